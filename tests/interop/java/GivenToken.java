import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.SaslExtensionsCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;

/** Logs in with the token that the option "token" of the login module has, good or bad. */
public final class GivenToken implements AuthenticateCallbackHandler {
    private static final long HOUR_MS = 3_600_000;
    private String token = "";

    @Override
    public void configure(
            Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> entries) {
        token = String.valueOf(entries.get(0).getOptions().get("token"));
    }

    @Override
    public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerTokenCallback) {
                ((OAuthBearerTokenCallback) callback).token(new Token(token));
            } else if (!(callback instanceof SaslExtensionsCallback)) {
                throw new UnsupportedCallbackException(callback);
            }
        }
    }

    @Override
    public void close() {
    }

    private record Token(String value) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public long lifetimeMs() {
            return System.currentTimeMillis() + HOUR_MS;
        }

        @Override
        public String principalName() {
            return "alice";
        }

        @Override
        public Long startTimeMs() {
            return System.currentTimeMillis();
        }
    }
}
