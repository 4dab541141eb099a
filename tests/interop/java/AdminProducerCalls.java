import java.util.List;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.common.TopicPartition;

/** Producers and their transactions. */
final class AdminProducerCalls {
    private final Admin admin;
    private final String name;
    private final TopicPartition target;

    AdminProducerCalls(Admin admin, String name) {
        this.admin = admin;
        this.name = name;
        this.target = new TopicPartition(name, 0);
    }

    void run() {
        Outcome.tell("describeProducers", () -> producers().size());
        Outcome.tell("listTransactions", () -> "contains " + contains(name));
        Outcome.tell("describeTransactions unknown",
                () -> admin.describeTransactions(List.of(name)).description(name).get());
        Outcome.tell("fenceProducers", () -> admin.fenceProducers(List.of(name)).all().get());
        Outcome.tell("describeTransactions", () -> {
            TransactionDescription told =
                    admin.describeTransactions(List.of(name)).description(name).get();
            return told.state() + " partitions " + told.topicPartitions().size();
        });
        Outcome.tell("listTransactions of one", () -> "contains " + contains(name));
        AbortTransactionSpec nobody = new AbortTransactionSpec(target, 987_654_321L, (short) 0, 0);
        Outcome.tell("abortTransaction unknown", () -> admin.abortTransaction(nobody).all().get());
    }

    private List<ProducerState> producers() throws Exception {
        return admin.describeProducers(List.of(target)).partitionResult(target).get()
                .activeProducers();
    }

    private boolean contains(String transactionalId) throws Exception {
        return admin.listTransactions().all().get().stream()
                .anyMatch(listing -> listing.transactionalId().equals(transactionalId));
    }
}
