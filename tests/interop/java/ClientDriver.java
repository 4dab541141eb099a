import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.protocol.Errors;

/**
 * Driver for the Java client: reads one JSON request per line and answers with one JSON line.
 * The protocol is described in clients/driver_loop.py. The argument is the bootstrap address.
 */
public final class ClientDriver {
    private final ObjectMapper json = new ObjectMapper();
    private final Map<Integer, DrivenConsumer> consumers = new HashMap<>();
    private final AdminOperations admin;
    private final ProduceOperation producer;
    private final String bootstrap;
    private int nextConsumer;

    private ClientDriver(String bootstrap) {
        this.bootstrap = bootstrap;
        this.admin = new AdminOperations(bootstrap, json);
        this.producer = new ProduceOperation(bootstrap, json);
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream protocol = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        ClientDriver driver = new ClientDriver(arguments[0]);
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            protocol.println(driver.answer(line));
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(String line) throws Exception {
        ObjectNode answer = json.createObjectNode();
        JsonNode request = json.readTree(line);
        try {
            answer.set("result", run(request.get("op").asText(), request.get("arguments")));
        } catch (Exception raised) {
            raised.printStackTrace();
            Throwable cause =
                    raised instanceof ExecutionException ? raised.getCause() : raised;
            ObjectNode error = answer.putObject("error");
            // The consumer's own exception for this answer is not in the table of errors.
            Errors known = cause instanceof OffsetOutOfRangeException
                    ? Errors.OFFSET_OUT_OF_RANGE : Errors.forException(cause);
            int code = known.code();
            error.put("code", code > 0 ? code : null);
            error.put("name", cause.getClass().getSimpleName());
            error.put("message", String.valueOf(cause.getMessage()));
        }
        return json.writeValueAsString(answer);
    }

    private JsonNode run(String operation, JsonNode arguments) throws Exception {
        if (operation.equals("produce")) {
            return producer.produce(arguments);
        }
        if (operation.equals("open_consumer")) {
            nextConsumer++;
            consumers.put(
                    nextConsumer, new DrivenConsumer(bootstrap, arguments.get("settings"), json));
            return json.getNodeFactory().numberNode(nextConsumer);
        }
        if (!arguments.has("consumer")) {
            return admin.run(operation, arguments);
        }
        int number = arguments.get("consumer").asInt();
        if (operation.equals("close")) {
            consumers.remove(number).close(Duration.ofSeconds(10));
            return json.nullNode();
        }
        return consumers.get(number).run(operation, arguments);
    }
}
