package slotlending.adapter;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The conformance vectors, given to the adapter line by line. */
class VectorsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** The folder of the vectors: by default beside this port's. */
    private static final Path VECTORS = Path.of(System.getProperty("vectors", "../vectors"));

    @TestFactory
    List<DynamicTest> vectors() throws IOException {
        try (Stream<Path> paths = Files.list(VECTORS)) {
            List<Path> files = paths.filter(path -> path.toString().endsWith(".jsonl")).sorted().toList();
            assertFalse(files.isEmpty(), "no vectors in " + VECTORS);
            return files.stream()
                    .map(file -> DynamicTest.dynamicTest(file.getFileName().toString(), () -> run(file)))
                    .toList();
        }
    }

    private static void run(Path file) throws IOException {
        var port = new Protocol();
        int number = 0;
        for (String line : Files.readAllLines(file)) {
            number++;
            JsonNode expected = JSON.readTree(line).get("expect");
            JsonNode answer = JSON.readTree(port.answer(line));
            assertEquals(compared(expected), compared(answer), file + ", line " + number + ": " + line);
        }
    }

    /** What counts of an answer: of a refusal its code, of a greeting the protocol, of lines their set. */
    private static Object compared(JsonNode answer) {
        if (answer.isArray()) {
            return stream(answer).map(VectorsTest::compared).toList();
        }
        if (answer.has("error")) {
            return answer.at("/error/code");
        }
        if (answer.has("protocol")) {
            return answer.get("protocol");
        }
        if (answer.get("children") instanceof ObjectNode children) {
            List<String> empty = stream(children.fieldNames()).filter(run -> children.get(run).isEmpty()).toList();
            children.remove(empty);
        }
        if (answer.get("lines") instanceof ArrayNode lines) {
            List<JsonNode> sorted = stream(lines)
                    .filter(line -> !line.get("line").isEmpty())
                    .sorted((one, other) -> one.get("node").toString().compareTo(other.get("node").toString()))
                    .toList();
            lines.removeAll().addAll(sorted);
        }
        return answer;
    }

    private static <T> Stream<T> stream(Iterable<T> values) {
        return StreamSupport.stream(values.spliterator(), false);
    }

    private static <T> Stream<T> stream(Iterator<T> values) {
        return stream((Iterable<T>) () -> values);
    }
}
