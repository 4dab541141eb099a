import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** One open consumer and the operations on it. */
final class DrivenConsumer implements ConsumerRebalanceListener {
    private final ObjectMapper json;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private int assignmentsSeen;

    DrivenConsumer(String bootstrap, JsonNode settings, ObjectMapper json) {
        this.json = json;
        this.consumer = new KafkaConsumer<>(properties(bootstrap, settings));
        List<TopicPartition> partitions = new ArrayList<>();
        for (JsonNode pair : settings.get("assign")) {
            partitions.add(new TopicPartition(pair.get(0).asText(), pair.get(1).asInt()));
        }
        if (partitions.isEmpty()) {
            List<String> topics = new ArrayList<>();
            settings.get("topics").forEach(topic -> topics.add(topic.asText()));
            consumer.subscribe(topics, this);
            return;
        }
        consumer.assign(partitions);
        if (!settings.get("start_offset").isNull()) {
            partitions.forEach(tp -> consumer.seek(tp, settings.get("start_offset").asLong()));
        }
    }

    private static Properties properties(String bootstrap, JsonNode settings) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("enable.auto.commit", false);
        properties.put("auto.offset.reset", settings.get("offset_reset").asText());
        properties.put("fetch.max.wait.ms", 100);
        if (settings.get("group").isNull()) {
            return properties;
        }
        properties.put("group.id", settings.get("group").asText());
        properties.put("group.protocol", settings.get("protocol").asText());
        if (!settings.get("instance_id").isNull()) {
            properties.put("group.instance.id", settings.get("instance_id").asText());
        }
        if (settings.get("protocol").asText().equals("classic")) {
            boolean cooperative = settings.get("assignor").asText().equals("cooperative");
            Class<?> assignor = cooperative ? CooperativeStickyAssignor.class : RangeAssignor.class;
            properties.put("partition.assignment.strategy", assignor.getName());
            properties.put("session.timeout.ms", settings.get("session_timeout_ms").asInt());
            properties.put("heartbeat.interval.ms", settings.get("heartbeat_interval_ms").asInt());
        }
        return properties;
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        // Scenarios commit by themselves.
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        assignmentsSeen++;
    }

    void close(Duration timeout) {
        consumer.close(CloseOptions.timeout(timeout));
    }

    JsonNode run(String operation, JsonNode arguments) throws Exception {
        switch (operation) {
            case "poll":
                return poll(Duration.ofMillis(arguments.get("timeout_ms").asLong()));
            case "assignment":
                return assignment();
            case "assignments_seen":
                return json.getNodeFactory().numberNode(assignmentsSeen);
            case "commit":
                return commit(arguments.get("offsets"));
            case "committed":
                return committed(partition(arguments));
            case "seek":
                consumer.seek(partition(arguments), arguments.get("offset").asLong());
                return json.nullNode();
            case "offset_for_time":
                return offsetForTime(
                        partition(arguments), arguments.get("timestamp_ms").asLong());
            default:
                throw new IllegalArgumentException("unknown operation " + operation);
        }
    }

    private static TopicPartition partition(JsonNode arguments) {
        return new TopicPartition(
                arguments.get("topic").asText(), arguments.get("partition").asInt());
    }

    private JsonNode poll(Duration timeout) {
        ArrayNode found = json.createArrayNode();
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(timeout)) {
            ObjectNode fields = found.addObject();
            fields.put("topic", record.topic());
            fields.put("partition", record.partition());
            fields.put("offset", record.offset());
            fields.put("timestamp_ms", record.timestamp());
            fields.put("key", record.key());
            fields.put("value", record.value());
            ArrayNode headers = fields.putArray("headers");
            for (Header header : record.headers()) {
                headers.addArray().add(header.key()).add(header.value());
            }
        }
        return found;
    }

    private JsonNode assignment() {
        ArrayNode found = json.createArrayNode();
        for (TopicPartition owned : consumer.assignment()) {
            found.addArray().add(owned.topic()).add(owned.partition());
        }
        return found;
    }

    private JsonNode commit(JsonNode offsets) {
        if (offsets.isNull()) {
            consumer.commitSync();
            return json.nullNode();
        }
        Map<TopicPartition, OffsetAndMetadata> chosen = new HashMap<>();
        for (JsonNode entry : offsets) {
            chosen.put(
                    new TopicPartition(entry.get(0).asText(), entry.get(1).asInt()),
                    new OffsetAndMetadata(entry.get(2).asLong()));
        }
        consumer.commitSync(chosen);
        return json.nullNode();
    }

    private JsonNode committed(TopicPartition wanted) {
        OffsetAndMetadata found = consumer.committed(Set.of(wanted)).get(wanted);
        return found == null
                ? json.nullNode()
                : json.getNodeFactory().numberNode(found.offset());
    }

    private JsonNode offsetForTime(TopicPartition wanted, long timestampMs) {
        OffsetAndTimestamp found =
                consumer.offsetsForTimes(Map.of(wanted, timestampMs)).get(wanted);
        return found == null
                ? json.nullNode()
                : json.getNodeFactory().numberNode(found.offset());
    }
}
