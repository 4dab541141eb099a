import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListStreamsGroupOffsetsSpec;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** Groups of all kinds. */
final class AdminGroupCalls {
    private static final Duration SHORT_WAIT = Duration.ofSeconds(3);

    private final Admin admin;
    private final String group;
    private final String unknown;
    private final TopicPartition target;

    AdminGroupCalls(Admin admin, String name) {
        this.admin = admin;
        this.group = name;
        this.unknown = name + "-unknown";
        this.target = new TopicPartition(name, 0);
    }

    void run() {
        consumers();
        sharers();
        streams();
        Outcome.tell("clientInstanceId", () -> admin.clientInstanceId(SHORT_WAIT));
    }

    private void consumers() {
        Outcome.tell("describeConsumerGroups unknown",
                () -> admin.describeConsumerGroups(List.of(unknown)).all().get());
        Outcome.tell("describeClassicGroups unknown",
                () -> admin.describeClassicGroups(List.of(unknown)).all().get());
        Outcome.tell("alterConsumerGroupOffsets", () -> admin.alterConsumerGroupOffsets(
                group, Map.of(target, new OffsetAndMetadata(0))).all().get());
        Outcome.tell("listConsumerGroupOffsets", () -> admin.listConsumerGroupOffsets(group)
                .partitionsToOffsetAndMetadata().get().size());
        Outcome.tell("listGroups", () -> "contains " + admin.listGroups().all().get().stream()
                .anyMatch(each -> each.groupId().equals(group)));
        Outcome.tell("describeConsumerGroups", () -> admin.describeConsumerGroups(List.of(group))
                .all().get().get(group).groupState().toString());
        Outcome.tell("removeMembersFromConsumerGroup", () -> admin.removeMembersFromConsumerGroup(
                group, new RemoveMembersFromConsumerGroupOptions()).all().get());
        Outcome.tell("deleteConsumerGroupOffsets", () ->
                admin.deleteConsumerGroupOffsets(group, Set.of(target)).all().get());
        Outcome.tell("deleteConsumerGroups unknown",
                () -> admin.deleteConsumerGroups(List.of(unknown)).all().get());
    }

    private void sharers() {
        Outcome.tell("describeShareGroups unknown",
                () -> admin.describeShareGroups(List.of(unknown)).all().get());
        Outcome.tell("listShareGroupOffsets unknown", () -> admin.listShareGroupOffsets(
                Map.of(unknown, new ListShareGroupOffsetsSpec())).all().get());
        Outcome.tell("alterShareGroupOffsets", () ->
                admin.alterShareGroupOffsets(unknown + "-s", Map.of(target, 0L)).all().get());
        Outcome.tell("deleteShareGroupOffsets unknown", () ->
                admin.deleteShareGroupOffsets(unknown, Set.of(target.topic())).all().get());
        Outcome.tell("deleteShareGroups unknown",
                () -> admin.deleteShareGroups(List.of(unknown)).all().get());
    }

    private void streams() {
        Outcome.tell("describeStreamsGroups unknown",
                () -> admin.describeStreamsGroups(List.of(unknown)).all().get());
        Outcome.tell("listStreamsGroupOffsets unknown", () -> admin.listStreamsGroupOffsets(
                Map.of(unknown, new ListStreamsGroupOffsetsSpec())).all().get().size());
        Outcome.tell("deleteStreamsGroups unknown",
                () -> admin.deleteStreamsGroups(List.of(unknown)).all().get());
    }
}
