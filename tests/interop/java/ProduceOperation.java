import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Produces the records of a request and waits for every acknowledgement. */
final class ProduceOperation {
    private final String bootstrap;
    private final ObjectMapper json;

    ProduceOperation(String bootstrap, ObjectMapper json) {
        this.bootstrap = bootstrap;
        this.json = json;
    }

    JsonNode produce(JsonNode arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        properties.put("compression.type", arguments.get("codec").asText());
        properties.put("enable.idempotence", arguments.get("idempotent").asBoolean());
        properties.put("acks", "all");
        properties.put("linger.ms", 5);
        properties.put("key.serializer", ByteArraySerializer.class.getName());
        properties.put("value.serializer", ByteArraySerializer.class.getName());
        String topic = arguments.get("topic").asText();
        ArrayNode offsets = json.createArrayNode();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode fields : arguments.get("records")) {
                sent.add(producer.send(record(topic, fields)));
            }
            for (Future<RecordMetadata> future : sent) {
                offsets.add(future.get().offset());
            }
        }
        return offsets;
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, JsonNode fields)
            throws IOException {
        RecordHeaders headers = new RecordHeaders();
        for (JsonNode header : fields.get("headers")) {
            headers.add(header.get(0).asText(), bytes(header.get(1)));
        }
        JsonNode timestamp = fields.get("timestamp_ms");
        return new ProducerRecord<>(
                topic,
                fields.get("partition").asInt(),
                timestamp.isNull() ? null : timestamp.asLong(),
                bytes(fields.get("key")),
                bytes(fields.get("value")),
                headers);
    }

    private static byte[] bytes(JsonNode base64) throws IOException {
        return base64.isNull() ? null : base64.binaryValue();
    }
}
