"""Log-in over real sockets: what is served before, and what ends a connection."""

from __future__ import annotations

import hashlib
import logging
import struct
import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.codecs.kafka.generated.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from headrace.codecs.kafka.generated.metadata import MetadataRequest
from headrace.coordination.metadata.credentials import CredentialDeletion, CredentialUpsertion
from headrace.frontends.common import warning_limit
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.security.acl import Principal
from headrace.security.scram_credential import ScramMechanism
from headrace.testing import Broker
from tests.wire import secure
from tests.wire.calls import batch, fetch, produce
from tests.wire.raw_client import RawClient
from tests.wire.secure import (
    AUTHENTICATE,
    HANDSHAKE,
    authenticate,
    bearer,
    handshake,
    is_cut_off,
    log_in_plain,
    log_in_scram,
    plain,
    principal_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

API_VERSIONS, METADATA, DESCRIBE_CONFIGS = 18, 3, 32
SOFTWARE = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
MECHANISMS = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER"
UNSUPPORTED_MECHANISM, ILLEGAL_STATE, FAILED = 33, 34, 58
PATIENCE_SECONDS = 5


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    settings = {
        "sasl.enabled.mechanisms": MECHANISMS,
        "headrace.sasl.users": "alice:secret,bob:other",
        "sasl.oauthbearer.jwks.endpoint.url": secure.key_set(tmp_path_factory.mktemp("keys")),
        "connection.failed.authentication.delay.ms": "20",
        "listener.name.impatient.connections.max.reauth.ms": "300",
        "listener.name.strict.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    }
    listeners = [
        "kafka+sasl://127.0.0.1:0",
        "kafka+sasl://127.0.0.1:0?name=impatient",
        "kafka+sasl://127.0.0.1:0?name=strict",
    ]
    with Broker(settings, listeners=listeners) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port_of("sasl_plaintext")) as client:
        yield client


def is_no_longer_served(client: RawClient) -> bool:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            is_served(client)
        except ConnectionError:
            return True
    return False


def is_served(client: RawClient) -> bool:
    return client.call(METADATA, 9, MetadataRequest(topics=[])).cluster_id is not None


def test_scram_lets_in_and_names_the_principal(broker: Broker, client: RawClient):
    assert client.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
    answer = log_in_scram(client, "alice", "secret")
    assert (answer.error_code, answer.error_message, answer.session_lifetime_ms) == (0, None, 0)
    assert principal_of(broker, client) == Principal.user("alice")
    topic = broker.create_topic("by-scram")
    assert produce(client, topic, {0: batch(b"x")})[0].error_code == 0
    assert fetch(client, topic, {0: 0})[0].error_code == 0


@pytest.mark.parametrize("version", [0, 1, 2])
def test_plain_and_tokens_let_in_by_every_version(broker: Broker, version: int):
    for mechanism, data in (
        ("PLAIN", plain("bob", "other")),
        ("OAUTHBEARER", bearer(secure.token("bob"))),
    ):
        with RawClient(broker.port_of("sasl_plaintext")) as client:
            assert handshake(client, mechanism).mechanisms == MECHANISMS.split(",")
            assert authenticate(client, data, version).error_code == 0
            assert is_served(client)


@pytest.mark.parametrize("api_key", sorted(HANDLERS.keys() - {HANDSHAKE, API_VERSIONS}))
def test_nothing_else_is_served_before(client: RawClient, api_key: int):
    version = HANDLERS[api_key].version_max
    client.socket.sendall(struct.pack(">ihhih", 10, api_key, version, 1, -1))
    assert client.is_closed_by_peer()


@pytest.mark.parametrize(
    ("api_key", "version", "request_body"),
    [(METADATA, 9, MetadataRequest(topics=[])), (API_VERSIONS, 3, SOFTWARE)],
)
def test_nothing_else_is_served_between_handshake_and_token(
    client: RawClient, api_key: int, version: int, request_body: Any
):
    assert client.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
    assert handshake(client, "PLAIN").error_code == 0
    client.send(api_key, version, request_body)
    assert client.is_closed_by_peer()


@pytest.mark.parametrize(
    ("name", "password"), [("alice", "wrong"), ("nobody", "secret"), ("alice", "")]
)
@pytest.mark.parametrize("log_in", [log_in_plain, log_in_scram])
def test_wrong_password_is_refused_in_the_same_words(
    client: RawClient,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    log_in: Any,
    name: str,
    password: str,
):
    monkeypatch.setattr(warning_limit, "INTERVAL_SECONDS", 0.0)
    with caplog.at_level(logging.WARNING):
        answer = log_in(client, name, password)
        assert answer.error_code == FAILED
        assert answer.error_message.startswith("authentication failed: invalid credentials")
        assert name not in answer.error_message
        assert client.is_closed_by_peer()
    assert len(caplog.records) == 1
    assert "authentication failed peer=127.0.0.1" in caplog.text
    assert "wrong" not in caplog.text.replace("wrong name or password", "")
    assert "secret" not in caplog.text


def test_who_tries_again_and_again_does_not_fill_the_log(
    broker: Broker, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with RawClient(broker.port_of("sasl_plaintext")) as client:
                assert log_in_plain(client, password="wrong").error_code == FAILED
    assert len(caplog.records) <= 1  # none, if another test has just failed in the same way


def test_refusal_waits_and_others_do_not(broker: Broker):
    port = broker.port_of("sasl_plaintext")
    with RawClient(port) as wrong, RawClient(port) as right:
        handshake(wrong, "SCRAM-SHA-256")
        started = time.monotonic()
        sent = wrong.send(AUTHENTICATE, 2, secure.SaslAuthenticateRequest(auth_bytes=b"nonsense"))
        assert log_in_scram(right, "bob", "other").error_code == 0
        received, answer = wrong.receive(AUTHENTICATE, 2)
        assert time.monotonic() - started >= 0.015
        assert (received, answer.error_code) == (sent, FAILED)
        assert wrong.is_closed_by_peer()
        assert is_served(right)


@pytest.mark.parametrize(
    "text",
    [
        secure.token(seconds=-120),
        secure.token(key=secure.FORGED_KEY),
        secure.token(key=None, algorithm="none"),
        secure.token(key="0" * 64, algorithm="HS256"),
        "no.token.atall",
    ],
    ids=["expired", "forged", "none", "symmetric", "nonsense"],
)
def test_bad_token_is_challenged_and_then_refused(client: RawClient, text: str):
    assert handshake(client, "OAUTHBEARER").error_code == 0
    challenge = authenticate(client, bearer(text))
    assert (challenge.error_code, challenge.auth_bytes) == (0, b'{"status":"invalid_token"}')
    assert authenticate(client, b"\x01").error_code == FAILED
    assert client.is_closed_by_peer()


def test_mechanism_that_is_not_enabled_is_answered_with_those_that_are(broker: Broker):
    with RawClient(broker.port_of("strict")) as client:
        answer = handshake(client, "PLAIN")
        assert (answer.error_code, answer.mechanisms) == (UNSUPPORTED_MECHANISM, ["SCRAM-SHA-512"])
        assert client.is_closed_by_peer()
    with RawClient(broker.port_of("strict")) as client:
        assert log_in_scram(client, "alice", "secret", "SCRAM-SHA-512").error_code == 0


def test_token_without_a_handshake_ends_the_connection(client: RawClient):
    client.send(AUTHENTICATE, 2, secure.SaslAuthenticateRequest(auth_bytes=plain("a", "b")))
    assert client.is_closed_by_peer()


def test_token_after_the_log_in_is_illegal_but_harmless(client: RawClient):
    assert log_in_plain(client).error_code == 0
    assert authenticate(client, plain("alice", "secret")).error_code == ILLEGAL_STATE
    assert is_served(client)


def test_frames_are_small_before_the_log_in(client: RawClient):
    client.socket.sendall(struct.pack(">ihhih", 512 * 1024 + 1, API_VERSIONS, 3, 1, -1))
    assert is_cut_off(client)


def test_frames_are_large_after_the_log_in(broker: Broker, client: RawClient):
    assert log_in_plain(client).error_code == 0
    topic = broker.create_topic("large")
    assert produce(client, topic, {0: batch(b"x" * 900_000)})[0].error_code == 0


def bare(client: RawClient, data: bytes) -> bytes:
    client.socket.sendall(struct.pack(">i", len(data)) + data)
    return client.read(struct.unpack(">i", client.read(4))[0])


def test_old_handshake_takes_bare_tokens(broker: Broker):
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        with RawClient(broker.port_of("sasl_plaintext")) as client:
            assert handshake(client, mechanism, 0).error_code == 0
            if mechanism == "PLAIN":
                assert bare(client, plain("alice", "secret")) == b""
            else:
                scram = secure.ScramClient("alice", "secret", mechanism)
                scram.process_server_first_message(bare(client, scram.first_message()))
                scram.process_server_final_message(bare(client, scram.final_message()))
            assert is_served(client)


def test_request_right_behind_a_bare_token_is_served(client: RawClient):
    assert handshake(client, "PLAIN", 0).error_code == 0
    data = plain("alice", "secret")
    request = client.frame(METADATA, 9, MetadataRequest(topics=[]))
    client.socket.sendall(struct.pack(">i", len(data)) + data + request)
    assert client.read(4) == bytes(4)
    assert client.receive(METADATA, 9)[1].cluster_id is not None


@pytest.mark.parametrize("size", [-1, 512 * 1024 + 1])
def test_bare_token_of_an_illegal_size_ends_the_connection(client: RawClient, size: int):
    assert handshake(client, "PLAIN", 0).error_code == 0
    client.socket.sendall(struct.pack(">i", size))
    assert client.is_closed_by_peer()


def test_wrong_bare_token_ends_the_connection(client: RawClient):
    assert handshake(client, "PLAIN", 0).error_code == 0
    data = plain("alice", "wrong")
    client.socket.sendall(struct.pack(">i", len(data)) + data)
    assert client.is_closed_by_peer()


def test_expired_log_in_ends_the_connection_at_the_next_request(broker: Broker):
    with RawClient(broker.port_of("impatient")) as client:
        answer = log_in_scram(client, "alice", "secret")
        assert 0 < answer.session_lifetime_ms <= 300
        assert is_no_longer_served(client)


def test_log_in_is_renewed_on_the_same_connection(broker: Broker):
    with RawClient(broker.port_of("impatient")) as client:
        assert log_in_plain(client).error_code == 0
        until = time.monotonic() + 0.7
        while time.monotonic() < until:
            assert log_in_plain(client).session_lifetime_ms == 300
            assert is_served(client)


@pytest.mark.parametrize(
    "again",
    [
        lambda client: log_in_plain(client, "bob", "other"),
        lambda client: log_in_scram(client, "alice", "secret"),
    ],
    ids=["somebody else", "another mechanism"],
)
def test_nobody_becomes_somebody_else(client: RawClient, again: Any):
    assert log_in_plain(client).error_code == 0
    answer = again(client)
    assert answer.error_code == FAILED
    assert client.is_closed_by_peer()


def test_log_in_where_nobody_has_to_is_illegal():
    with Broker() as broker, RawClient(broker.port) as client:
        answer = handshake(client, "PLAIN")
        assert (answer.error_code, list(answer.mechanisms)) == (ILLEGAL_STATE, [])
        assert authenticate(client, plain("a", "b")).error_code == ILLEGAL_STATE
        assert is_served(client)


def test_stored_user_gets_in_until_it_is_taken_away(broker: Broker):
    salted = hashlib.pbkdf2_hmac("sha512", b"stored", b"salt", 4_096)
    upsertion = CredentialUpsertion("dora", ScramMechanism.SCRAM_SHA_512, 4_096, b"salt", salted)
    deletion = CredentialDeletion("dora", ScramMechanism.SCRAM_SHA_512)
    ways = (
        lambda client: log_in_scram(client, "dora", "stored", "SCRAM-SHA-512"),
        lambda client: log_in_plain(client, "dora", "stored"),
    )
    for change, code in ((upsertion, 0), (deletion, FAILED)):
        outcomes = broker.call(lambda server, c=change: server.broker.credentials.alter([c]))
        assert outcomes == {"dora": None}
        for log_in in ways:
            with RawClient(broker.port_of("sasl_plaintext")) as client:
                assert log_in(client).error_code == code


def test_secrets_are_not_described(client: RawClient):
    assert log_in_plain(client).error_code == 0
    this_broker = DescribeConfigsResource(4, "1", None)
    request = DescribeConfigsRequest([this_broker], include_synonyms=True)
    (result,) = client.call(DESCRIBE_CONFIGS, 4, request).results
    described = {entry.name: entry for entry in result.configs}
    for name in ("headrace.sasl.users", "ssl.key.password"):
        assert (described[name].value, described[name].is_sensitive) == (None, True)
        assert all(synonym.value is None for synonym in described[name].synonyms)


def test_failures_are_counted(broker: Broker, client: RawClient):
    def failures() -> int:
        return broker.call(lambda server: server.metrics.authentications_failed)

    before = failures()
    assert log_in_plain(client, password="wrong").error_code == FAILED
    assert failures() == before + 1
