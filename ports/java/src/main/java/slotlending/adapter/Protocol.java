package slotlending.adapter;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import slotlending.Answer;
import slotlending.FaultyPool;
import slotlending.Order;
import slotlending.Pool;
import slotlending.RefusedException;
import slotlending.Rules;
import slotlending.RunState;
import slotlending.Snapshot;

/** One conversation in the port protocol, version 1: one request in, one answer out, as JSON. */
public final class Protocol {
    private static final ObjectMapper JSON =
            JsonMapper.builder().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();
    private static final List<String> FEATURES = List.of(
            "try_ask", "cancel", "resize", "relend", "jobs", "state", "batch", "served", "oldest", "fifo");

    private final String fault;
    /** The pool of the last reset; null before the first. */
    private Pool pool;

    /** A conversation with the pool as it is. */
    public Protocol() {
        this(null);
    }

    /** A conversation with a pool that has the mistake of this name (see {@link FaultyPool}), or none if it is null. */
    public Protocol(String fault) {
        this.fault = fault;
    }

    /** The answer to one line. Whatever the line holds, there is one. */
    public String answer(String line) {
        JsonNode answer;
        try {
            answer = told(JSON.readTree(line), true);
        } catch (JsonProcessingException error) {
            answer = refusal("bad_request", error.getOriginalMessage());
        }
        return answer.toString();
    }

    private JsonNode told(JsonNode request, boolean outermost) {
        try {
            return carryOut(request, outermost);
        } catch (BadRequestException error) {
            return refusal("bad_request", error.getMessage());
        } catch (RefusedException refused) {
            return refusal(refused.code().toString(), refused.getMessage());
        }
    }

    private JsonNode carryOut(JsonNode request, boolean outermost) {
        if (!request.isObject()) {
            throw new BadRequestException("a request is an object");
        }
        String op = required(request, "op");
        if (outermost && op.equals("hello")) {
            ObjectNode hello = JSON.createObjectNode().put("name", "slotlending (Java)").put("protocol", 1);
            return hello.set("features", JSON.valueToTree(FEATURES));
        }
        if (outermost && op.equals("batch")) {
            return batch(request.path("ops"));
        }
        if (op.equals("reset")) {
            pool = newPool(cap(request), rules(request));
            return difference(Answer.NOTHING);
        }
        if (pool == null) {
            throw new BadRequestException("there is no pool before the first reset");
        }
        return switch (op) {
            case "ask" -> difference(pool.ask(required(request, "run"), text(request, "parent"), job(request)));
            case "try_ask" -> difference(pool.tryAsk(required(request, "run"), text(request, "parent"), job(request)));
            case "finish" -> difference(pool.finish(required(request, "run")));
            case "cancel" -> difference(pool.cancel(required(request, "run")));
            case "resize" -> difference(pool.resize(cap(request)));
            case "state" -> state(pool.snapshot());
            default -> throw new BadRequestException("no op " + op);
        };
    }

    private JsonNode batch(JsonNode requests) {
        if (!requests.isArray()) {
            throw new BadRequestException("ops is an array of requests");
        }
        ArrayNode answers = JSON.createArrayNode();
        requests.forEach(request -> answers.add(told(request, false)));
        return answers;
    }

    private Pool newPool(int cap, Rules rules) {
        return fault == null ? new Pool(cap, rules) : FaultyPool.named(fault, cap, rules);
    }

    // -- members of a request

    /** A request that the protocol does not know, or one before there is a pool. */
    private static final class BadRequestException extends RuntimeException {
        private static final long serialVersionUID = 1;

        BadRequestException(String message) {
            super(message);
        }
    }

    private static String required(JsonNode request, String name) {
        String text = text(request, name);
        if (text == null) {
            throw new BadRequestException(name + " is missing");
        }
        return text;
    }

    /** A member that is text, or null if it is absent or null, which is the same. */
    private static String text(JsonNode request, String name) {
        JsonNode value = request.path(name);
        if (!value.isTextual() && !value.isNull() && !value.isMissingNode()) {
            throw new BadRequestException(name + " is a string");
        }
        return value.textValue();
    }

    private static List<String> job(JsonNode request) {
        JsonNode value = request.path("job");
        if (value.isMissingNode() || value.isNull()) {
            return null;
        }
        var names = new ArrayList<String>();
        value.forEach(name -> names.add(name.textValue()));
        if (!value.isArray() || names.contains(null)) {
            throw new BadRequestException("job is an array of strings");
        }
        return names;
    }

    /** What is there and is no integer is a bad cap, whatever its type: 0 is what the pool refuses. */
    private static int cap(JsonNode request) {
        JsonNode value = request.path("cap");
        if (value.isMissingNode()) {
            throw new BadRequestException("cap is missing");
        }
        return value.isIntegralNumber() && value.canConvertToInt() ? value.intValue() : 0;
    }

    private static Rules rules(JsonNode request) {
        JsonNode relend = request.path("relend");
        if (!relend.isMissingNode() && !relend.isNull() && !relend.isBoolean()) {
            throw new BadRequestException("relend is true or false");
        }
        return new Rules(order(text(request, "order"), text(request, "tie")), relend.booleanValue());
    }

    private static Order order(String order, String tie) {
        if ("fifo".equals(order)) {
            return Order.FIFO;
        }
        if (order != null && !order.equals("fewest_held")) {
            throw new BadRequestException("order is fewest_held or fifo");
        }
        return switch (tie == null ? "served" : tie) {
            case "served" -> Order.SERVED;
            case "oldest" -> Order.OLDEST;
            default -> throw new BadRequestException("tie is served or oldest");
        };
    }

    // -- answers

    private static JsonNode refusal(String code, String message) {
        ObjectNode answer = JSON.createObjectNode();
        answer.putObject("error").put("code", code).put("message", message);
        return answer;
    }

    private static JsonNode difference(Answer difference) {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode granted = answer.putArray("granted");
        difference.granted().forEach(grant ->
                granted.addObject().put("run", grant.run()).put("token", grant.token().toString()));
        return answer.set("relent", JSON.valueToTree(difference.relent()));
    }

    private static JsonNode state(Snapshot snapshot) {
        ObjectNode state = JSON.createObjectNode().put("cap", snapshot.cap()).put("taken", snapshot.taken());
        ObjectNode runs = state.putObject("runs");
        snapshot.runs().forEach((id, run) -> runs.set(id, run(run)));
        state.set("waiting", JSON.valueToTree(snapshot.waiting()));
        state.set("children", JSON.valueToTree(snapshot.children()));
        ArrayNode lines = state.putArray("lines");
        snapshot.lines().forEach((node, line) -> {
            ObjectNode told = lines.addObject();
            told.set("node", JSON.valueToTree(node));
            told.set("line", JSON.valueToTree(line));
        });
        return state;
    }

    private static JsonNode run(RunState run) {
        ObjectNode state = JSON.createObjectNode()
                .put("phase", run.phase().toString())
                .put("token", run.token().toString())
                .put("lent", run.lent())
                .put("level", run.level())
                .put("parent", run.parent());
        return state.set("job", JSON.valueToTree(run.job()));
    }
}
