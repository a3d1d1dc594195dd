package slotlending.adapter;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Reader;
import java.nio.charset.StandardCharsets;

/** The adapter: speaks the port protocol (ports/PROTOCOL.md) on standard input and output. */
public final class Main {
    private Main() {}

    public static void main(String[] arguments) throws IOException {
        var port = new Protocol(System.getenv("SLOTLENDING_FAULT"));
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new BufferedWriter(new OutputStreamWriter(System.out, StandardCharsets.UTF_8));
        for (String line = nextLine(input); line != null; line = nextLine(input)) {
            output.write(port.answer(line));
            output.write('\n');
            output.flush();
        }
    }

    /** The next line, or null at the end. Only a line feed ends one, while {@code readLine} would also split at others. */
    private static String nextLine(Reader input) throws IOException {
        var line = new StringBuilder();
        int read = input.read();
        boolean ended = read < 0;
        for (; read >= 0 && read != '\n'; read = input.read()) {
            line.append((char) read);
        }
        return ended ? null : line.toString();
    }
}
