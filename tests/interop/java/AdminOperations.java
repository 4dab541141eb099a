import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** The admin calls that scenarios make. */
final class AdminOperations {
    private final Admin admin;
    private final ObjectMapper json;

    AdminOperations(String bootstrap, ObjectMapper json) {
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        this.json = json;
    }

    JsonNode run(String operation, JsonNode arguments) throws Exception {
        if (arguments.has("group")) {
            return runOnGroup(operation, arguments.get("group").asText());
        }
        if (operation.equals("list_topics")) {
            return json.valueToTree(admin.listTopics().names().get());
        }
        if (operation.equals("list_groups")) {
            return json.valueToTree(
                    admin.listGroups().all().get().stream().map(GroupListing::groupId).toList());
        }
        return runOnTopic(operation, arguments.get("topic").asText(), arguments);
    }

    private JsonNode runOnTopic(String operation, String topic, JsonNode arguments)
            throws Exception {
        switch (operation) {
            case "create_topic":
                createTopic(topic, arguments);
                return json.nullNode();
            case "delete_topic":
                admin.deleteTopics(List.of(topic)).all().get();
                return json.nullNode();
            case "partition_count":
                return json.valueToTree(
                        admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic)
                                .partitions().size());
            case "create_partitions":
                int total = arguments.get("total").asInt();
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(total))).all().get();
                return json.nullNode();
            case "describe_configs":
                return describeConfigs(topic);
            case "alter_config":
                alterConfig(topic, arguments);
                return json.nullNode();
            case "delete_records":
                return deleteRecords(topic, arguments);
            case "list_offset":
                return listOffset(topic, arguments);
            default:
                throw new IllegalArgumentException("unknown operation " + operation);
        }
    }

    private void createTopic(String topic, JsonNode arguments) throws Exception {
        Map<String, String> configs = new HashMap<>();
        arguments.get("configs").properties()
                .forEach(entry -> configs.put(entry.getKey(), entry.getValue().asText()));
        short replicas = (short) arguments.get("replication_factor").asInt();
        NewTopic created = new NewTopic(topic, arguments.get("partitions").asInt(), replicas);
        admin.createTopics(List.of(created.configs(configs))).all().get();
    }

    private JsonNode describeConfigs(String topic) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ObjectNode found = json.createObjectNode();
        admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()
                .forEach(entry -> found.put(entry.name(), entry.value()));
        return found;
    }

    private void alterConfig(String topic, JsonNode arguments) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigEntry entry =
                new ConfigEntry(arguments.get("name").asText(), arguments.get("value").asText());
        AlterConfigOp change = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
    }

    private JsonNode deleteRecords(String topic, JsonNode arguments) throws Exception {
        TopicPartition target = new TopicPartition(topic, arguments.get("partition").asInt());
        long before = arguments.get("before_offset").asLong();
        return json.valueToTree(
                admin.deleteRecords(Map.of(target, RecordsToDelete.beforeOffset(before)))
                        .lowWatermarks().get(target).get().lowWatermark());
    }

    private JsonNode listOffset(String topic, JsonNode arguments) throws Exception {
        TopicPartition target = new TopicPartition(topic, arguments.get("partition").asInt());
        boolean earliest = arguments.get("at").asText().equals("earliest");
        OffsetSpec spec = earliest ? OffsetSpec.earliest() : OffsetSpec.latest();
        return json.valueToTree(
                admin.listOffsets(Map.of(target, spec)).partitionResult(target).get().offset());
    }

    private JsonNode runOnGroup(String operation, String group) throws Exception {
        switch (operation) {
            case "describe_group":
                return describeGroup(group);
            case "delete_group":
                admin.deleteConsumerGroups(List.of(group)).all().get();
                return json.nullNode();
            case "group_offsets":
                ArrayNode found = json.createArrayNode();
                admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get()
                        .forEach((target, offset) -> found.addArray()
                                .add(target.topic()).add(target.partition()).add(offset.offset()));
                return found;
            default:
                throw new IllegalArgumentException("unknown operation " + operation);
        }
    }

    private JsonNode describeGroup(String group) throws Exception {
        ConsumerGroupDescription described =
                admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        ObjectNode found = json.createObjectNode();
        found.put("state", described.groupState().toString());
        found.put("member_count", described.members().size());
        ArrayNode instances = found.putArray("instance_ids");
        described.members().forEach(
                member -> member.groupInstanceId().ifPresent(instances::add));
        return found;
    }
}
