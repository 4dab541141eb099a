import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Sends a record synchronously and one with a callback, the two ways a Java producer is taught.
 * Both statements are kept exactly as users write them; only the surroundings are ours.
 * Arguments: bootstrap servers, topic.
 */
public final class Snippets {
    private Snippets() {
    }

    public static void main(String[] arguments) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("key.serializer", StringSerializer.class.getName());
        properties.put("value.serializer", StringSerializer.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
            sendSynchronously(producer, new ProducerRecord<>(arguments[1], "synchronous"));
            sendWithCallback(producer, new ProducerRecord<>(arguments[1], "callback"));
        }
    }

    private static void sendSynchronously(
            KafkaProducer<String, String> producer, ProducerRecord<String, String> record) {
        try {
            RecordMetadata metadata = producer.send(record).get();
            System.out.println(" 消息发送成功。");
        } catch (Throwable e) {
            System.out.println(" 消息发送失败！");
            System.out.println(e);
        }
    }

    private static void sendWithCallback(
            KafkaProducer<String, String> producer, ProducerRecord<String, String> record) {
        producer.send(record, (metadata, exception) -> {
            if (metadata != null) {
                System.out.println(" 消息发送成功。");
            } else {
                System.out.println(" 消息发送失败！");
                System.out.println(exception);
            }
        });
    }
}
