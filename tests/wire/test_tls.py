"""TLS over real sockets: who gets in, as whom, and what is said to those who do not."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.frontends.kafka.tls_handshake import TlsHandshake
from headrace.security.acl import ANONYMOUS, Principal
from headrace.testing import Broker
from tests.wire.calls import FETCH, batch, by_partition, fetch, fetch_request, produce
from tests.wire.raw_client import RawClient
from tests.wire.secure import Certificates, TlsClient, is_cut_off, log_in_scram, principal_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

API_VERSIONS = 18
SOFTWARE = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
PATIENCE_SECONDS = 5
REFUSED = (ssl.SSLError, ConnectionError)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(certificates: Certificates) -> Iterator[Broker]:
    settings = {
        **certificates.settings,
        "headrace.sasl.users": "bob:secret",
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/U",
        "listener.name.polite.ssl.client.auth": "requested",
        "listener.name.picky.ssl.client.auth": "required",
        "listener.name.picky.ssl.principal.mapping.rules": "RULE:^OU=(.*)$/$1/",
    }
    names = ("mutual", "polite", "picky")
    listeners = ["kafka://127.0.0.1:0", "kafka+ssl://127.0.0.1:0", "kafka+sasl_ssl://127.0.0.1:0"]
    listeners += [f"kafka+ssl://127.0.0.1:0?name={name}" for name in names]
    with Broker(settings, listeners=listeners) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker, certificates: Certificates) -> Iterator[TlsClient]:
    with TlsClient(broker.port_of("ssl"), certificates.client_context()) as client:
        yield client


def eventually(look: Callable[[], Any]) -> Any:
    """What ``look`` sees, once it is something."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (seen := look()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)
    return seen


def test_records_go_in_and_out(broker: Broker, client: TlsClient):
    assert client.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
    topic = broker.create_topic("encrypted")
    large = [b"%d" % number * 100_000 for number in range(8)]
    for value in large:
        assert produce(client, topic, {0: batch(value)})[0].error_code == 0
    answer = fetch(client, topic, {0: 0}, partition_max_bytes=10_000_000)[0]
    assert bytes(answer.records) == b"".join(
        batch(value, base_offset=offset) for offset, value in enumerate(large)
    )


def test_request_that_comes_with_the_handshake_is_served(broker: Broker, client: TlsClient):
    frames = b"".join(client.frame(API_VERSIONS, 3, SOFTWARE) for _ in range(50))
    client.socket.sendall(frames)
    answers = [client.receive(API_VERSIONS, 3) for _ in range(50)]
    assert [number for number, _ in answers] == list(range(1, 51))


def test_large_request_arrives_whole(broker: Broker, client: TlsClient):
    topic = broker.create_topic("large", config={"max.message.bytes": "30000000"})
    assert produce(client, topic, {0: batch(b"x" * 20_000_000)})[0].error_code == 0
    answer = fetch(client, topic, {0: 0}, partition_max_bytes=30_000_000)[0]
    assert len(answer.records) > 20_000_000


def test_client_that_does_not_read_holds_up_nobody(broker: Broker, certificates: Certificates):
    topic = broker.create_topic("unread")
    context = certificates.client_context()
    port = broker.port_of("ssl")
    with TlsClient(port, context) as lazy, TlsClient(port, context) as busy:
        assert produce(lazy, topic, {0: batch(b"x" * 1_000_000)})[0].error_code == 0
        for _ in range(40):
            lazy.send(FETCH, 12, fetch_request(topic, {0: 0}, partition_max_bytes=2_000_000))
        for _ in range(20):
            assert busy.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
        for _ in range(40):
            _, answer = lazy.receive(FETCH, 12)
            assert len(by_partition(answer)[0].records) > 1_000_000


@pytest.mark.parametrize(
    ("name", "with_certificate", "principal"),
    [
        ("ssl", True, ANONYMOUS),
        ("mutual", True, Principal.user("ALICE")),
        ("polite", True, Principal.user("CN=alice")),
        ("polite", False, ANONYMOUS),
    ],
)
def test_certificate_names_the_principal(
    broker: Broker,
    certificates: Certificates,
    name: str,
    with_certificate: bool,
    principal: Principal,
):
    context = certificates.client_context(with_certificate=with_certificate)
    with TlsClient(broker.port_of(name), context) as client:
        assert client.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
        assert principal_of(broker, client) == principal


def test_log_in_over_tls_names_the_principal(broker: Broker, certificates: Certificates):
    context = certificates.client_context()
    with TlsClient(broker.port_of("sasl_ssl"), context) as client:
        assert log_in_scram(client, "bob", "secret", "SCRAM-SHA-512").error_code == 0
        assert principal_of(broker, client) == Principal.user("bob")


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """The one line that tells of it."""
    (line,) = eventually(lambda: caplog.records)
    assert line.exc_info is None
    return line.getMessage()


def try_to_connect(port: int, context: ssl.SSLContext) -> None:
    with pytest.raises(REFUSED), TlsClient(port, context) as client:
        client.call(API_VERSIONS, 3, SOFTWARE)


def test_client_with_another_authority_is_told_in_the_log(
    broker: Broker, tmp_path: Any, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        try_to_connect(broker.port_of("ssl"), Certificates(tmp_path).client_context())
        assert "does not trust our certificate" in logged(caplog)


def test_certificate_of_another_authority_is_refused(
    broker: Broker, certificates: Certificates, tmp_path: Any, caplog: pytest.LogCaptureFixture
):
    context = certificates.client_context()
    context.load_cert_chain(Certificates(tmp_path).client)
    with caplog.at_level(logging.WARNING):
        try_to_connect(broker.port_of("mutual"), context)
        assert "ssl.truststore.location" in logged(caplog)


def test_missing_certificate_is_refused(
    broker: Broker, certificates: Certificates, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        try_to_connect(broker.port_of("mutual"), certificates.client_context())
        assert "ssl.client.auth is required" in logged(caplog)


def test_subject_that_no_rule_fits_is_refused(
    broker: Broker, certificates: Certificates, caplog: pytest.LogCaptureFixture
):
    context = certificates.client_context(with_certificate=True)
    with caplog.at_level(logging.WARNING):
        try_to_connect(broker.port_of("picky"), context)
        assert "no principal mapping rule" in logged(caplog)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
def test_old_version_is_refused(
    broker: Broker, certificates: Certificates, caplog: pytest.LogCaptureFixture
):
    context = certificates.client_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1_1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with caplog.at_level(logging.WARNING):
        try_to_connect(broker.port_of("ssl"), context)
        assert "ssl.enabled.protocols" in logged(caplog)


@pytest.mark.parametrize("words", ["kafka", "http"])
def test_plain_text_to_tls_is_told_in_the_log(
    broker: Broker, client: TlsClient, caplog: pytest.LogCaptureFixture, words: str
):
    with caplog.at_level(logging.WARNING), RawClient(broker.port_of("ssl")) as plain:
        if words == "kafka":
            plain.send(API_VERSIONS, 3, SOFTWARE)
        else:
            plain.socket.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with pytest.raises(ConnectionError):
            plain.read(1_000)
        assert "security.protocol" in logged(caplog)
    assert client.call(API_VERSIONS, 3, SOFTWARE).error_code == 0


def test_tls_to_plain_text_is_told_in_the_log(
    broker: Broker, certificates: Certificates, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        try_to_connect(broker.port_of("plaintext"), certificates.client_context())
        assert "the client speaks TLS" in logged(caplog)


def connections(server: Any) -> int:
    return sum(len(door.admission) for _, door in server._listeners)


def test_port_check_is_not_worth_a_line(broker: Broker, caplog: pytest.LogCaptureFixture):
    before = broker.call(connections)
    with caplog.at_level(logging.INFO):
        socket.create_connection(("127.0.0.1", broker.port_of("ssl")), PATIENCE_SECONDS).close()
        eventually(lambda: broker.call(connections) == before)
    assert caplog.records == []


class AcceptedTransport(asyncio.Transport):
    """All that a handshake needs of the connection it begins on."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__({"socket": connection, "peername": ("127.0.0.1", 1)})

    def abort(self) -> None:
        self.get_extra_info("socket").close()


def test_handshake_that_is_stopped_at_once_leaves_nothing_behind(broker: Broker):
    theirs, accepted = socket.socketpair()

    def begin_and_stop(server: Any) -> None:
        door = next(door for _, door in server._listeners if door.security.tls is not None)
        handshake = TlsHandshake(door)
        handshake.connection_made(AcceptedTransport(accepted))
        handshake.stop()

    before = broker.call(connections)
    broker.call(begin_and_stop)
    eventually(lambda: broker.call(connections) == before)
    with theirs:
        theirs.settimeout(PATIENCE_SECONDS)
        assert theirs.recv(1) == b"", "no descriptor of it is open any more"


def test_handshake_has_a_time_limit(certificates: Certificates, caplog: pytest.LogCaptureFixture):
    settings = {**certificates.settings, "headrace.ssl.handshake.timeout.ms": "100"}
    with (
        caplog.at_level(logging.WARNING),
        Broker(settings, listeners=["kafka+ssl://127.0.0.1:0"]) as broker,
        RawClient(broker.port) as silent,
    ):
        silent.socket.sendall(b"\x16\x03\x01")
        assert is_cut_off(silent)
        assert "SSL handshake is taking longer" in logged(caplog)


@pytest.mark.parametrize("setting", ["max.connections", "max.connections.per.ip"])
def test_connections_count_from_the_handshake_on(certificates: Certificates, setting: str):
    settings = {**certificates.settings, setting: "2"}
    context = certificates.client_context()
    with Broker(settings, listeners=["kafka+ssl://127.0.0.1:0"]) as broker, ExitStack() as stack:
        silent = stack.enter_context(RawClient(broker.port))
        stack.enter_context(TlsClient(broker.port, context))
        try_to_connect(broker.port, context)
        silent.socket.close()

        def is_free() -> bool:
            try:
                stack.enter_context(TlsClient(broker.port, context))
            except REFUSED:
                return False
            return True

        eventually(is_free)


def test_new_certificate_serves_new_connections(tmp_path: Any):
    certificates = Certificates(tmp_path)
    settings = {**certificates.settings, "headrace.ssl.reload.interval.ms": "100"}
    context = certificates.client_context()

    def serial(port: int) -> str:
        with TlsClient(port, context) as client:
            return client.server_serial

    with (
        Broker(settings, listeners=["kafka+ssl://127.0.0.1:0"]) as broker,
        TlsClient(broker.port, context) as old,
    ):
        before = old.server_serial
        certificates.renew_server()
        eventually(lambda: serial(broker.port) != before)
        assert old.call(API_VERSIONS, 3, SOFTWARE).error_code == 0


def test_broker_stops_with_handshakes_and_connections_open(certificates: Certificates):
    with ExitStack() as clients:
        with Broker(certificates.settings, listeners=["kafka+ssl://127.0.0.1:0"]) as broker:
            begun = clients.enter_context(RawClient(broker.port))
            begun.socket.sendall(struct.pack(">B", 0x16))
            done = clients.enter_context(TlsClient(broker.port, certificates.client_context()))
            assert done.call(API_VERSIONS, 3, SOFTWARE).error_code == 0
            started = time.monotonic()
        assert time.monotonic() - started < PATIENCE_SECONDS
        assert done.is_closed_by_peer()
