import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.quota.ClientQuotaFilter;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/** Quotas, credentials, access rules and tokens. */
final class AdminSecurityCalls {
    private static final ScramMechanism MECHANISM = ScramMechanism.SCRAM_SHA_256;
    private static final byte[] NO_TOKEN = "nobody".getBytes();

    private final Admin admin;
    private final String name;

    AdminSecurityCalls(Admin admin, String name) {
        this.admin = admin;
        this.name = name;
    }

    void run() {
        quotas();
        credentials();
        rules();
        tokens();
    }

    private void quotas() {
        Outcome.tell("alterClientQuotas", () -> setQuota("producer_byte_rate", 1e6));
        Outcome.tellSettled("describeClientQuotas", "ok 1", () -> admin.describeClientQuotas(
                ClientQuotaFilter.all()).entities().get().size());
        Outcome.tell("alterClientQuotas removes", () -> setQuota("producer_byte_rate", null));
        Outcome.tell("alterClientQuotas nonsense", () -> setQuota("nonsense", 1.0));
    }

    private Object setQuota(String quota, Double value) throws Exception {
        ClientQuotaEntity user = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, name));
        ClientQuotaAlteration.Op change = new ClientQuotaAlteration.Op(quota, value);
        return admin.alterClientQuotas(List.of(new ClientQuotaAlteration(user, List.of(change))))
                .all().get();
    }

    private void credentials() {
        ScramCredentialInfo info = new ScramCredentialInfo(MECHANISM, 4096);
        ScramCredentialInfo weak = new ScramCredentialInfo(MECHANISM, 1);
        Outcome.tell("describeUserScramCredentials unknown", () ->
                admin.describeUserScramCredentials(List.of(name)).description(name).get());
        Outcome.tell("alterUserScramCredentials", () -> admin.alterUserScramCredentials(
                List.of(new UserScramCredentialUpsertion(name, info, "secret"))).all().get());
        Outcome.tell("alterUserScramCredentials weak", () -> admin.alterUserScramCredentials(
                List.of(new UserScramCredentialUpsertion(name, weak, "secret"))).all().get());
        Outcome.tellSettled("describeUserScramCredentials", "ok 1", () ->
                admin.describeUserScramCredentials(List.of(name)).description(name).get()
                        .credentialInfos().size());
        Outcome.tell("alterUserScramCredentials removes", () -> remove(name));
        Outcome.tell("alterUserScramCredentials removes again", () -> remove(name));
    }

    private Object remove(String user) throws Exception {
        return admin.alterUserScramCredentials(
                List.of(new UserScramCredentialDeletion(user, MECHANISM))).all().get();
    }

    private void rules() {
        AclBinding rule = new AclBinding(
                new ResourcePattern(ResourceType.TOPIC, name, PatternType.LITERAL),
                new AccessControlEntry(
                        "User:somebody", "*", AclOperation.READ, AclPermissionType.ALLOW));
        Outcome.tell("createAcls", () -> admin.createAcls(List.of(rule)).all().get());
        Outcome.tell("describeAcls", () -> admin.describeAcls(AclBindingFilter.ANY).values().get());
        Outcome.tell("deleteAcls",
                () -> admin.deleteAcls(List.of(AclBindingFilter.ANY)).all().get());
    }

    private void tokens() {
        Outcome.tell("createDelegationToken",
                () -> admin.createDelegationToken().delegationToken().get());
        Outcome.tell("describeDelegationToken",
                () -> admin.describeDelegationToken().delegationTokens().get());
        Outcome.tell("renewDelegationToken",
                () -> admin.renewDelegationToken(NO_TOKEN).expiryTimestamp().get());
        Outcome.tell("expireDelegationToken",
                () -> admin.expireDelegationToken(NO_TOKEN).expiryTimestamp().get());
    }
}
