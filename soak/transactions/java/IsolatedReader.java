import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Prints "partition offset value" of every record that an isolation level shows, up to the end.
 * Arguments: bootstrap servers, topic, isolation level.
 */
public final class IsolatedReader {
    private static final Duration POLL = Duration.ofSeconds(1);
    private static final int SILENT_POLLS_MAX = 30;

    private IsolatedReader() {
    }

    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("isolation.level", arguments[2]);
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        StringBuilder output = new StringBuilder();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            List<TopicPartition> partitions = consumer.partitionsFor(arguments[1]).stream()
                    .map(info -> new TopicPartition(info.topic(), info.partition()))
                    .collect(Collectors.toList());
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            readAll(consumer, output);
        }
        System.out.print(output);
        System.out.flush();
    }

    private static void readAll(KafkaConsumer<byte[], byte[]> consumer, StringBuilder output) {
        Map<TopicPartition, Long> ends = new HashMap<>(consumer.endOffsets(consumer.assignment()));
        int silent = 0;
        while (!isAtEnd(consumer, ends)) {
            int before = output.length();
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                String value = new String(record.value(), StandardCharsets.UTF_8);
                output.append(record.partition()).append(' ').append(record.offset());
                output.append(' ').append(value).append('\n');
            }
            silent = output.length() == before ? silent + 1 : 0;
            if (silent > SILENT_POLLS_MAX) {
                throw new IllegalStateException("silence before the end: " + ends);
            }
        }
    }

    private static boolean isAtEnd(
            KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends) {
        return ends.entrySet().stream()
                .allMatch(end -> consumer.position(end.getKey()) >= end.getValue());
    }
}
