import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.QuorumInfo;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.Uuid;

/** Where partitions are, who leads them, and who belongs to the cluster. */
final class AdminPlacementCalls {
    private static final int NOBODY = 99;

    private final Admin admin;
    private final String topic;
    private final int node;

    AdminPlacementCalls(Admin admin, String topic, int node) {
        this.admin = admin;
        this.topic = topic;
        this.node = node;
    }

    void run() throws Exception {
        cluster();
        directories();
        elections(ElectionType.PREFERRED);
        elections(ElectionType.UNCLEAN);
        reassignments();
    }

    private void cluster() {
        Outcome.tell("describeCluster", () -> {
            boolean isController = admin.describeCluster().controller().get().id() == node;
            return "nodes " + admin.describeCluster().nodes().get().size()
                    + " controller " + isController;
        });
        Outcome.tell("describeMetadataQuorum", () -> {
            QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
            QuorumInfo.ReplicaState voter = quorum.voters().get(0);
            boolean isWhole = quorum.leaderId() == node && voter.replicaId() == node
                    && quorum.highWatermark() > 0
                    && voter.logEndOffset() >= quorum.highWatermark()
                    && voter.lastCaughtUpTimestamp().orElse(0) > 0
                    && quorum.nodes().get(node).endpoints().size() == 1;
            return "voters " + quorum.voters().size() + " observers " + quorum.observers().size()
                    + " whole " + isWhole;
        });
        Outcome.tell("unregisterBroker unknown", () -> admin.unregisterBroker(NOBODY).all().get());
        Outcome.tell("removeRaftVoter unknown",
                () -> admin.removeRaftVoter(NOBODY, Uuid.ONE_UUID).all().get());
    }

    private void directories() throws Exception {
        TopicPartitionReplica here = new TopicPartitionReplica(topic, 0, node);
        TopicPartitionReplica unknown = new TopicPartitionReplica(topic, 9, node);
        Outcome.tellSettled("describeReplicaLogDirs", "ok is known true",
                () -> "is known " + (pathOf(here) != null));
        String path = pathOf(here);
        Outcome.tell("alterReplicaLogDirs to the same",
                () -> admin.alterReplicaLogDirs(Map.of(here, path)).all().get());
        Outcome.tell("alterReplicaLogDirs to another",
                () -> admin.alterReplicaLogDirs(Map.of(here, "/nowhere")).all().get());
        Outcome.tell("alterReplicaLogDirs unknown",
                () -> admin.alterReplicaLogDirs(Map.of(unknown, path)).all().get());
    }

    private String pathOf(TopicPartitionReplica replica) throws Exception {
        return admin.describeReplicaLogDirs(List.of(replica)).all().get().get(replica)
                .getCurrentReplicaLogDir();
    }

    private void elections(ElectionType kind) {
        Outcome.tell("electLeaders " + kind, () -> elected(kind, new TopicPartition(topic, 0)));
        Outcome.tell("electLeaders unknown " + kind,
                () -> elected(kind, new TopicPartition(topic, 9)));
        Outcome.tell("electLeaders of all " + kind,
                () -> admin.electLeaders(kind, null).partitions().get().size());
    }

    private String elected(ElectionType kind, TopicPartition target) throws Exception {
        Optional<Throwable> error =
                admin.electLeaders(kind, Set.of(target)).partitions().get().get(target);
        return error.map(cause -> cause.getClass().getSimpleName()).orElse("elected");
    }

    private void reassignments() {
        Outcome.tell("alterPartitionReassignments to here", () -> reassign(0, List.of(node)));
        Outcome.tell("alterPartitionReassignments away", () -> reassign(0, List.of(NOBODY)));
        Outcome.tell("alterPartitionReassignments to more",
                () -> reassign(0, List.of(node, NOBODY)));
        Outcome.tell("alterPartitionReassignments twice", () -> reassign(0, List.of(node, node)));
        Outcome.tell("alterPartitionReassignments unknown", () -> reassign(9, List.of(node)));
        Outcome.tell("alterPartitionReassignments cancel", () -> reassign(0, null));
        Outcome.tell("alterPartitionReassignments cancel unknown", () -> reassign(9, null));
        Outcome.tell("listPartitionReassignments",
                () -> admin.listPartitionReassignments().reassignments().get().size());
        Outcome.tell("listPartitionReassignments of some", () ->
                admin.listPartitionReassignments(Set.of(new TopicPartition(topic, 0)))
                        .reassignments().get().size());
    }

    private Object reassign(int partition, List<Integer> replicas) throws Exception {
        Optional<NewPartitionReassignment> wish =
                Optional.ofNullable(replicas).map(NewPartitionReassignment::new);
        TopicPartition target = new TopicPartition(topic, partition);
        return admin.alterPartitionReassignments(Map.of(target, wish)).all().get();
    }
}
