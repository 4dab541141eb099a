"""Broker options about who may connect: TLS, log-in (SASL), and how long a log-in holds.

Each of them can also be set for one listener, as ``listener.name.NAME.OPTION``; see
``listener_options``. Passwords are ``sensitive``: no log, description or ``repr`` has their value.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import declare
from headrace.config.declare import BYTES, HIGH, LOW, MILLISECONDS, SECONDS
from headrace.model.errors import InvalidConfig

PLAIN = "PLAIN"
SCRAM_SHA_256 = "SCRAM-SHA-256"
SCRAM_SHA_512 = "SCRAM-SHA-512"
OAUTHBEARER = "OAUTHBEARER"
NO_AUTHENTICATION = "NONE"
BASIC = "BASIC"
MECHANISMS = (PLAIN, SCRAM_SHA_256, SCRAM_SHA_512, OAUTHBEARER)

USERS_MAX = 100
"""That are given at the start: for each of them, keys are derived twice."""

_ONLY_PEM = "files are always PEM."


@dataclass(frozen=True, kw_only=True)
class SecuritySettings:
    """Part of ``BrokerConfig``, and what one listener has of it."""

    ssl_keystore_location: str | None = declare.optional_text(
        "ssl.keystore.location",
        "PEM file with the broker's certificate chain, and its key unless that is in a file of its"
        " own.",
        importance=HIGH,
    )
    ssl_key_location: str | None = declare.optional_text(
        "headrace.ssl.key.location",
        "PEM file with the broker's private key, where it is not in ssl.keystore.location.",
    )
    ssl_keystore_type: str = declare.text(
        "ssl.keystore.type",
        "PEM",
        "Format of ssl.keystore.location.",
        choices=("PEM",),
        no_effect=_ONLY_PEM,
    )
    ssl_key_password: str | None = declare.password(
        "ssl.key.password", "Password of the private key.", importance=HIGH
    )
    ssl_truststore_location: str | None = declare.optional_text(
        "ssl.truststore.location",
        "PEM file with the authorities that client certificates must come from.",
        importance=HIGH,
    )
    ssl_truststore_type: str = declare.text(
        "ssl.truststore.type",
        "PEM",
        "Format of ssl.truststore.location.",
        choices=("PEM",),
        no_effect=_ONLY_PEM,
    )
    ssl_client_auth: str = declare.text(
        "ssl.client.auth",
        "none",
        "Whether clients must show a certificate.",
        choices=("required", "requested", "none"),
    )
    ssl_enabled_protocols: frozenset[str] = declare.item_set(
        "ssl.enabled.protocols",
        "TLSv1.2,TLSv1.3",
        "Versions of TLS that are spoken.",
        choices=("TLSv1.2", "TLSv1.3"),
    )
    ssl_principal_mapping_rules: str = declare.text(
        "ssl.principal.mapping.rules",
        "DEFAULT",
        "How a certificate's subject becomes a user name: RULE:pattern/replacement/[LU] or DEFAULT,"
        " separated by commas; the first that fits is taken.",
    )
    ssl_handshake_timeout_ms: int = declare.integer(
        "headrace.ssl.handshake.timeout.ms",
        10_000,
        "How long a client may take for the TLS handshake.",
        unit=MILLISECONDS,
        minimum=100,
        importance=LOW,
    )
    ssl_reload_interval_ms: int = declare.integer(
        "headrace.ssl.reload.interval.ms",
        10_000,
        "How often the certificate files are looked at; changed ones serve new connections.",
        unit=MILLISECONDS,
        minimum=100,
        importance=LOW,
    )
    sasl_enabled_mechanisms: tuple[str, ...] = declare.items(
        "sasl.enabled.mechanisms",
        f"{SCRAM_SHA_256},{SCRAM_SHA_512}",
        "Ways to log in that are offered.",
        choices=MECHANISMS,
    )
    sasl_users: str | None = declare.password(
        "headrace.sasl.users",
        "Users that exist from the start, as NAME:PASSWORD,NAME:PASSWORD; for PLAIN and SCRAM."
        " Others are made while the broker runs, with headrace user.",
    )
    http_authentication_method: str = declare.text(
        "headrace.http.authentication.method",
        NO_AUTHENTICATION,
        "What HTTP listeners ask for, before the schema registry and the metrics: BASIC is a name"
        " and a password, of the same users that log in by PLAIN and SCRAM.",
        choices=(NO_AUTHENTICATION, BASIC),
    )
    sasl_server_max_receive_size: int = declare.integer(
        "sasl.server.max.receive.size",
        512 * 1024,
        "Largest request of a client that has not logged in yet.",
        unit=BYTES,
        minimum=1_024,
    )
    connection_failed_authentication_delay_ms: int = declare.integer(
        "connection.failed.authentication.delay.ms",
        100,
        "How long a failed log-in waits for its answer, and for the end of its connection.",
        unit=MILLISECONDS,
        minimum=0,
        maximum=60_000,
        importance=LOW,
    )
    connections_max_reauth_ms: int = declare.long(
        "connections.max.reauth.ms",
        0,
        "How long a log-in holds before the client must log in again; 0 is as long as the"
        " credential.",
        unit=MILLISECONDS,
        minimum=0,
    )
    sasl_oauthbearer_jwks_endpoint_url: str | None = declare.optional_text(
        "sasl.oauthbearer.jwks.endpoint.url",
        "Where the keys are that tokens are signed with: file:/PATH or https://HOST/PATH.",
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = declare.long(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        3_600_000,
        "How often the keys are read again.",
        unit=MILLISECONDS,
        minimum=1_000,
        importance=LOW,
    )
    sasl_oauthbearer_expected_audience: tuple[str, ...] = declare.items(
        "sasl.oauthbearer.expected.audience",
        "",
        "A token must be for one of these audiences; empty for any.",
        importance=LOW,
    )
    sasl_oauthbearer_expected_issuer: str | None = declare.optional_text(
        "sasl.oauthbearer.expected.issuer", "A token must come from this issuer.", importance=LOW
    )
    sasl_oauthbearer_clock_skew_seconds: int = declare.integer(
        "sasl.oauthbearer.clock.skew.seconds",
        30,
        "How far the clock of a token's issuer may be off.",
        unit=SECONDS,
        minimum=0,
        maximum=3_600,
        importance=LOW,
    )
    sasl_oauthbearer_scope_claim_name: str = declare.text(
        "sasl.oauthbearer.scope.claim.name",
        "scope",
        "The claim with a token's scopes.",
        importance=LOW,
    )
    sasl_oauthbearer_sub_claim_name: str = declare.text(
        "sasl.oauthbearer.sub.claim.name",
        "sub",
        "The claim with the user's name.",
        importance=LOW,
    )


SECURITY_OPTIONS = declare.catalogue(SecuritySettings)
_ATTRIBUTES = declare.attributes(SecuritySettings)


def security_settings(*layers: dict[str, str]) -> SecuritySettings:
    """Settings by name -> values; a later layer wins. Names of other options are passed over."""
    values: dict[str, object] = {}
    for layer in layers:
        for name, text in layer.items():
            if name in SECURITY_OPTIONS:
                values[_ATTRIBUTES[name]] = SECURITY_OPTIONS[name].parse(text)
    return SecuritySettings(**values)  # type: ignore[arg-type]


def parse_users(text: str | None) -> dict[str, str]:
    """Passwords by name of ``headrace.sasl.users``; InvalidConfig never shows what was given."""
    users: dict[str, str] = {}
    for pair in (text or "").split(","):
        name, colon, password = pair.strip().partition(":")
        if pair.strip() and not (name and colon and password):
            raise InvalidConfig("headrace.sasl.users: expected NAME:PASSWORD,NAME:PASSWORD")
        if name in users:
            raise InvalidConfig(f"headrace.sasl.users: {name} is there twice")
        if name:
            users[name] = password
    if len(users) > USERS_MAX:
        raise InvalidConfig(f"headrace.sasl.users: there can be {USERS_MAX} at most")
    return users
