import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureMetadata;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.FeatureUpdate.UpgradeType;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;

/** Levels of features; all are at the end as they were at the start. */
final class AdminFeatureCalls {
    private static final String TRANSACTIONS = "transaction.version";
    private static final String METADATA = "metadata.version";

    private final Admin admin;

    AdminFeatureCalls(Admin admin) {
        this.admin = admin;
    }

    void run() {
        for (String name : new String[] {TRANSACTIONS, METADATA, "group.version",
            "eligible.leader.replicas.version"}) {
            Outcome.tell("describeFeatures " + name, () -> level(name));
        }
        Outcome.tell("describeFeatures epoch", () -> "is known "
                + (described().finalizedFeaturesEpoch().orElse(-1L) >= 0));
        tell("upgrade past the newest", TRANSACTIONS, 3, UpgradeType.UPGRADE, false);
        tell("upgrade that is a downgrade", TRANSACTIONS, 1, UpgradeType.UPGRADE, false);
        tell("downgrade that would do", TRANSACTIONS, 1, UpgradeType.SAFE_DOWNGRADE, true);
        tell("downgrade", TRANSACTIONS, 1, UpgradeType.SAFE_DOWNGRADE, false);
        tell("downgrade that is an upgrade", TRANSACTIONS, 2, UpgradeType.SAFE_DOWNGRADE, false);
        tell("downgrade to 0", TRANSACTIONS, 0, UpgradeType.UNSAFE_DOWNGRADE, false);
        Outcome.tellSettled("describeFeatures while off", "ok off", () -> level(TRANSACTIONS));
        tell("upgrade", TRANSACTIONS, 2, UpgradeType.UPGRADE, false);
        tell("upgrade to the same", TRANSACTIONS, 2, UpgradeType.UPGRADE, false);
        tell("downgrade of metadata", METADATA, 29, UpgradeType.SAFE_DOWNGRADE, false);
        tell("unsafe downgrade of metadata", METADATA, 29, UpgradeType.UNSAFE_DOWNGRADE, false);
        tell("upgrade of metadata", METADATA, 31, UpgradeType.UPGRADE, false);
        tell("upgrade of the quorum", "kraft.version", 2, UpgradeType.UPGRADE, false);
        tell("upgrade of nonsense", "nonsense", 1, UpgradeType.UPGRADE, false);
        tell("downgrade of nonsense", "nonsense", 0, UpgradeType.SAFE_DOWNGRADE, false);
    }

    private void tell(
            String what, String name, int level, UpgradeType kind, boolean isOnlyValidated) {
        UpdateFeaturesOptions options = new UpdateFeaturesOptions().validateOnly(isOnlyValidated);
        FeatureUpdate update = new FeatureUpdate((short) level, kind);
        Outcome.tell("updateFeatures " + what,
                () -> admin.updateFeatures(Map.of(name, update), options).all().get());
    }

    private FeatureMetadata described() throws Exception {
        return admin.describeFeatures().featureMetadata().get();
    }

    private String level(String name) throws Exception {
        FinalizedVersionRange range = described().finalizedFeatures().get(name);
        return range == null ? "off" : Short.toString(range.maxVersionLevel());
    }
}
