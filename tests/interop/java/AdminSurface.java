import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * Makes every call of Java's Admin that one node can be asked, and prints one line for each: its
 * name, a tab, and either `ok` with what was told or the class of the error.
 * Arguments: bootstrap servers, a name for topics and groups that nobody else has.
 */
public final class AdminSurface {
    private static final String REQUEST_TIMEOUT_MS = "8000";
    private static final String CALL_TIMEOUT_MS = "20000";

    private AdminSurface() {
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", arguments[0],
                "request.timeout.ms", REQUEST_TIMEOUT_MS,
                "default.api.timeout.ms", CALL_TIMEOUT_MS);
        String name = arguments[1];
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(new NewTopic(name, 2, (short) 1))).all().get();
            int node = admin.describeCluster().nodes().get().iterator().next().id();
            new AdminTopicCalls(admin, name, node).run();
            new AdminPlacementCalls(admin, name, node).run();
            new AdminFeatureCalls(admin).run();
            new AdminProducerCalls(admin, name).run();
            new AdminSecurityCalls(admin, name).run();
            new AdminGroupCalls(admin, name).run();
            Outcome.tell("deleteTopics", () -> admin.deleteTopics(List.of(name)).all().get());
        }
    }
}
