import java.io.IOException;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * For each file of client settings: sends a record and reads it back, or says what came in the way.
 * Arguments: topic, files. One line per file: its name, and "ok" or the simple name of the failure.
 */
public final class SecureRoundTrips {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private SecureRoundTrips() {
    }

    public static void main(String[] arguments) throws IOException {
        for (String name : List.of(arguments).subList(1, arguments.length)) {
            Path file = Path.of(name);
            System.out.println(file.getFileName() + " " + outcome(file, arguments[0]));
        }
    }

    private static String outcome(Path file, String topic) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            properties.load(reader);
        }
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        properties.put("key.deserializer", StringDeserializer.class.getName());
        properties.put("value.deserializer", StringDeserializer.class.getName());
        properties.put("max.block.ms", Long.toString(PATIENCE.toMillis()));
        try {
            long offset = send(properties, topic, file.toString());
            return file.toString().equals(read(properties, topic, offset)) ? "ok" : "lost";
        } catch (ExecutionException failure) {
            return failure.getCause().getClass().getSimpleName();
        } catch (RuntimeException | InterruptedException failure) {
            return failure.getClass().getSimpleName();
        }
    }

    private static long send(Properties properties, String topic, String value)
            throws ExecutionException, InterruptedException {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
            return producer.send(new ProducerRecord<>(topic, 0, null, value)).get().offset();
        }
    }

    private static String read(Properties properties, String topic, long offset) {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties)) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, offset);
            for (ConsumerRecord<String, String> record : consumer.poll(PATIENCE)) {
                return record.value();
            }
        }
        return null;
    }
}
