import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** Topics, their settings and their records. */
final class AdminTopicCalls {
    private final Admin admin;
    private final String topic;
    private final int node;

    AdminTopicCalls(Admin admin, String topic, int node) {
        this.admin = admin;
        this.topic = topic;
        this.node = node;
    }

    void run() {
        topics();
        settings();
        records();
    }

    private void topics() {
        NewTopic wide = new NewTopic(topic + "-wide", 1, (short) 3);
        NewTopic again = new NewTopic(topic, 1, (short) 1);
        Outcome.tell("createTopics of 3 replicas",
                () -> admin.createTopics(List.of(wide)).all().get());
        Outcome.tell("createTopics again", () -> admin.createTopics(List.of(again)).all().get());
        Outcome.tellSettled("listTopics", "ok contains true",
                () -> "contains " + admin.listTopics().names().get().contains(topic));
        Outcome.tellSettled("describeTopics", "ok 2", () -> admin.describeTopics(List.of(topic))
                .allTopicNames().get().get(topic).partitions().size());
        Outcome.tell("describeTopics unknown",
                () -> admin.describeTopics(List.of(topic + "-unknown")).allTopicNames().get());
        Outcome.tell("createPartitions", () ->
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get());
        Outcome.tell("createPartitions fewer", () ->
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(1))).all().get());
        Outcome.tell("deleteTopics unknown",
                () -> admin.deleteTopics(List.of(topic + "-unknown")).all().get());
    }

    private void settings() {
        ConfigResource ofTopic = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigResource ofBroker =
                new ConfigResource(ConfigResource.Type.BROKER, Integer.toString(node));
        Outcome.tellSettled("describeConfigs of a topic", "ok delete", () ->
                admin.describeConfigs(List.of(ofTopic)).all().get().get(ofTopic)
                        .get("cleanup.policy").value());
        Outcome.tell("describeConfigs of a broker", () -> admin.describeConfigs(List.of(ofBroker))
                .all().get().get(ofBroker).get("message.max.bytes").value());
        Outcome.tell("incrementalAlterConfigs", () -> alter(ofTopic, "retention.ms", "60000"));
        Outcome.tell("incrementalAlterConfigs nonsense", () -> alter(ofTopic, "nonsense", "1"));
        Outcome.tellSettled("listConfigResources", "ok contains true", () -> "contains "
                + admin.listConfigResources().all().get().contains(ofTopic));
    }

    private Object alter(ConfigResource resource, String name, String value) throws Exception {
        AlterConfigOp change =
                new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        return admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
    }

    private void records() {
        TopicPartition target = new TopicPartition(topic, 0);
        Outcome.tellSettled("listOffsets", "ok 0", () ->
                admin.listOffsets(Map.of(target, OffsetSpec.latest()))
                .partitionResult(target).get().offset());
        Outcome.tell("listOffsets of the newest time", () ->
                admin.listOffsets(Map.of(target, OffsetSpec.maxTimestamp()))
                        .partitionResult(target).get().offset());
        Outcome.tell("deleteRecords", () ->
                admin.deleteRecords(Map.of(target, RecordsToDelete.beforeOffset(0)))
                        .all().get());
        Outcome.tell("deleteRecords too far", () ->
                admin.deleteRecords(Map.of(target, RecordsToDelete.beforeOffset(9)))
                        .all().get());
        Outcome.tell("describeLogDirs", () -> admin.describeLogDirs(Set.of(node))
                .allDescriptions().get().get(node).size());
    }
}
