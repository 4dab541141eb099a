import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Reads numbers, writes results, commits both in one transaction: the twin of processor.py.
 * Arguments: the fields of Task in task.py. Ends only by being killed or by an error.
 */
public final class TransactionalProcessor {
    private static final int BEGUN_AGAIN_STATUS = 3;
    private static final int CALLS_MAX = 6;
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long FACTOR = 31;
    private static final long SUMMAND = 7;

    private final String name;
    private final String inputTopic;
    private final String outputTopic;
    private final int partitions;
    private final double abortShare;
    private final Random chance;
    private final KafkaProducer<byte[], byte[]> producer;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private long transactions = 0;

    private TransactionalProcessor(String[] arguments) {
        name = arguments[2];
        chance = new Random(Long.parseLong(arguments[3]));
        inputTopic = arguments[4];
        outputTopic = arguments[5];
        partitions = Integer.parseInt(arguments[7]);
        abortShare = Double.parseDouble(arguments[9]);
        producer = new KafkaProducer<>(producerSettings(arguments));
        consumer = new KafkaConsumer<>(consumerSettings(arguments));
    }

    private static Properties commonSettings(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("reconnect.backoff.ms", "10");
        settings.put("reconnect.backoff.max.ms", "100");
        return settings;
    }

    private static Properties producerSettings(String[] arguments) {
        Properties settings = commonSettings(arguments);
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        settings.put("transactional.id", arguments[1]);
        settings.put("transaction.timeout.ms", arguments[10]);
        settings.put("max.block.ms", "10000");
        return settings;
    }

    private static Properties consumerSettings(String[] arguments) {
        Properties settings = commonSettings(arguments);
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("group.id", arguments[6]);
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", arguments[8]);
        settings.put("session.timeout.ms", arguments[11]);
        settings.put("heartbeat.interval.ms", arguments[12]);
        return settings;
    }

    public static void main(String[] arguments) {
        try {
            new TransactionalProcessor(arguments).run();
        } catch (KafkaException | IllegalStateException failure) {
            System.err.println("cannot go on: " + failure);
        }
        // Not by closing: a processor that cannot go on leaves everything as a killed one does.
        Runtime.getRuntime().halt(BEGUN_AGAIN_STATUS);
    }

    private void run() {
        persist(producer::initTransactions);
        consumer.subscribe(List.of(inputTopic));
        while (true) {
            ConsumerRecords<byte[], byte[]> batch = consumer.poll(POLL);
            if (!batch.isEmpty()) {
                process(batch);
            }
        }
    }

    private void process(ConsumerRecords<byte[], byte[]> batch) {
        String transaction = name + "/" + transactions++;
        boolean doomed = chance.nextDouble() < abortShare;
        try {
            write(batch, transaction, doomed);
            if (doomed) {
                // What is still in the queue would never be sent, and nothing would be hidden.
                producer.flush();
                abort(batch);
                say("aborted", transaction);
            } else {
                persist(producer::commitTransaction);
                say("committed", transaction);
            }
        } catch (KafkaException failure) {
            System.err.println("aborts " + transaction + ": " + failure);
            abort(batch);
        }
    }

    private void write(ConsumerRecords<byte[], byte[]> batch, String transaction, boolean doomed) {
        producer.beginTransaction();
        String end = " " + transaction + " " + batch.count() + (doomed ? " abort" : " commit");
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : batch) {
            long number = Long.parseLong(new String(record.value(), StandardCharsets.UTF_8));
            String value = number + " " + (number * FACTOR + SUMMAND) + end;
            int partition = (int) (number / 3 % partitions);
            byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
            producer.send(new ProducerRecord<>(outputTopic, partition, null, bytes));
            TopicPartition source = new TopicPartition(record.topic(), record.partition());
            offsets.put(source, new OffsetAndMetadata(record.offset() + 1));
        }
        producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
    }

    private void abort(ConsumerRecords<byte[], byte[]> batch) {
        persist(producer::abortTransaction);
        for (TopicPartition partition : batch.partitions()) {
            consumer.seek(partition, batch.records(partition).get(0).offset());
        }
    }

    private static void persist(Runnable call) {
        for (int count = 1; ; count++) {
            try {
                call.run();
                return;
            } catch (TimeoutException late) {
                if (count == CALLS_MAX) {
                    throw late;
                }
            }
        }
    }

    private static void say(String what, String transaction) {
        System.out.println(what + " " + transaction);
        System.out.flush();
    }
}
