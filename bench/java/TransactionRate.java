import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Producers that commit one transaction after the other. Prints how many were committed in the
 * measured time, and the median and the 99th percentile of their durations in microseconds.
 * Arguments: bootstrap servers, topic, partitions, producers, records per transaction, bytes per
 * record, seconds of warm-up, seconds, label of the transactional ids.
 */
public final class TransactionRate {
    private TransactionRate() {
    }

    public static void main(String[] arguments) throws Exception {
        int producers = Integer.parseInt(arguments[3]);
        long warm = (long) (Double.parseDouble(arguments[6]) * 1e9);
        long measured = (long) (Double.parseDouble(arguments[7]) * 1e9);
        ExecutorService threads = Executors.newFixedThreadPool(producers);
        List<KafkaProducer<byte[], byte[]>> opened = new ArrayList<>();
        for (int number = 0; number < producers; number++) {
            opened.add(open(arguments[0], arguments[8] + "-" + number));
        }
        long from = System.nanoTime() + warm;
        List<Future<List<Long>>> futures = new ArrayList<>();
        for (int number = 0; number < producers; number++) {
            futures.add(threads.submit(worker(arguments, opened.get(number), number, from, from + measured)));
        }
        threads.shutdown();
        List<Long> durations = new ArrayList<>();
        try {
            for (Future<List<Long>> future : futures) {
                durations.addAll(future.get());
            }
        } catch (ExecutionException e) {
            // The threads of the other producers would keep the process alive, and the cause hidden.
            e.printStackTrace();
            System.exit(1);
        }
        report(durations);
    }

    private static KafkaProducer<byte[], byte[]> open(String bootstrapServers, String id) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrapServers);
        settings.put("transactional.id", id);
        settings.put("key.serializer", ByteArraySerializer.class.getName());
        settings.put("value.serializer", ByteArraySerializer.class.getName());
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings);
        producer.initTransactions();
        return producer;
    }

    private static Callable<List<Long>> worker(
            String[] arguments, KafkaProducer<byte[], byte[]> producer, int number, long from, long until) {
        int partition = number % Integer.parseInt(arguments[2]);
        int records = Integer.parseInt(arguments[4]);
        byte[] value = new byte[Integer.parseInt(arguments[5])];
        Arrays.fill(value, (byte) 'x');
        return () -> {
            List<Long> durations = new ArrayList<>();
            long begun = System.nanoTime();
            while (begun < until) {
                producer.beginTransaction();
                for (int count = 0; count < records; count++) {
                    producer.send(new ProducerRecord<>(arguments[1], partition, null, value));
                }
                // Without this Java's client can send the end of a transaction before its records, and is
                // refused: it asks whether any wait before it looks for the next request.
                producer.flush();
                producer.commitTransaction();
                long ended = System.nanoTime();
                if (begun >= from && ended <= until) {
                    durations.add(ended - begun);
                }
                begun = ended;
            }
            producer.close();
            return durations;
        };
    }

    private static void report(List<Long> durations) {
        // A line of its own, whatever the client has written before.
        System.out.print("\nfigures: ");
        long[] sorted = durations.stream().mapToLong(Long::longValue).sorted().toArray();
        if (sorted.length == 0) {
            System.out.println("0 0 0");
            return;
        }
        long median = sorted[sorted.length / 2] / 1000;
        long late = sorted[Math.min(sorted.length - 1, sorted.length * 99 / 100)] / 1000;
        System.out.println(sorted.length + " " + median + " " + late);
    }
}
