import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Materialized;

/**
 * Counts words, every one exactly once. Without a cache each word in is one count out, so a reader
 * of the output can tell a word that was counted twice or not at all.
 * Arguments: bootstrap servers, input topic, output topic, directory of the state.
 */
public final class WordCount {
    private WordCount() {
    }

    private static Properties settings(String[] arguments) {
        Properties settings = new Properties();
        settings.put(StreamsConfig.APPLICATION_ID_CONFIG, "word-count");
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[3]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "50");
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        settings.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
        settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.consumerPrefix("session.timeout.ms"), "3000");
        settings.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), "500");
        settings.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        settings.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), "5000");
        settings.put(StreamsConfig.producerPrefix("delivery.timeout.ms"), "4000");
        settings.put(StreamsConfig.producerPrefix("request.timeout.ms"), "3000");
        return settings;
    }

    public static void main(String[] arguments) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[1])
                .flatMapValues(line -> Arrays.asList(line.split(" ")))
                .groupBy((key, word) -> word)
                .count(Materialized.as("counts"))
                .toStream()
                .mapValues(count -> Long.toString(count))
                .to(arguments[2]);
        // Not closed: it works until it is killed.
        @SuppressWarnings("resource")
        KafkaStreams streams = new KafkaStreams(builder.build(), settings(arguments));
        streams.setUncaughtExceptionHandler(failure -> {
            System.err.println("a thread is replaced: " + failure);
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
    }
}
