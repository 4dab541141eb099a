"""Who is refused by TLS is told why, by an alert that arrives; and the log tells it once."""

from __future__ import annotations

import logging
import ssl
import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.testing import Broker
from tests.wire.raw_client import RawClient
from tests.wire.secure import Certificates, TlsClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

API_VERSIONS = 18
SOFTWARE = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
PATIENCE_SECONDS = 5
TLS_1_2, TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
EAGER_BYTES = 4_000_000
"""More than the buffers of both ends hold."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(certificates: Certificates) -> Iterator[Broker]:
    settings = {
        **certificates.settings,
        "ssl.client.auth": "required",
        "listener.name.modern.ssl.client.auth": "none",
        "listener.name.modern.ssl.enabled.protocols": "TLSv1.3",
    }
    listeners = ["kafka+ssl://127.0.0.1:0", "kafka+ssl://127.0.0.1:0?name=modern"]
    with Broker(settings, listeners=listeners) as broker:
        yield broker


@pytest.fixture(autouse=True)
def nothing_told_before(broker: Broker) -> None:
    """The log is silent about what it told lately: each test begins anew."""

    def forget(server: Any) -> None:
        for _, door in server._listeners:
            door.security.warnings._told.clear()

    broker.call(forget)


def certificate_of(fault: str, certificates: Certificates, directory: Path) -> str:
    if fault == "another authority":
        return Certificates(directory).client
    return certificates.expired_client()


def faulty(
    fault: str, version: ssl.TLSVersion, certificates: Certificates, directory: Path
) -> ssl.SSLContext:
    """A client that speaks only this version."""
    context = certificates.client_context()
    context.minimum_version = context.maximum_version = version
    if fault != "no certificate":
        context.load_cert_chain(certificate_of(fault, certificates, directory))
    return context


def refusal(port: int, context: ssl.SSLContext) -> str:
    """The alert that a client gets, at the handshake or, with TLS 1.3, after its first request."""
    with pytest.raises(ssl.SSLError) as caught, TlsClient(port, context) as client:
        client.call(API_VERSIONS, 3, SOFTWARE)
    return str(caught.value.reason)


def failures(broker: Broker) -> int:
    return broker.call(lambda server: server.metrics.authentications_failed)


def lines(caplog: pytest.LogCaptureFixture, count: int) -> list[str]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(caplog.records) < count and time.monotonic() < deadline:
        time.sleep(0.002)
    return [record.getMessage() for record in caplog.records]


def eventually_nobody_is_connected(broker: Broker) -> bool:
    def connections(server: Any) -> int:
        return sum(len(door.admission) for _, door in server._listeners)

    deadline = time.monotonic() + PATIENCE_SECONDS
    while broker.call(connections) and time.monotonic() < deadline:
        time.sleep(0.002)
    return broker.call(connections) == 0


@pytest.mark.parametrize(
    ("fault", "version", "alert", "words"),
    [
        ("no certificate", TLS_1_2, "HANDSHAKE_FAILURE", "the client shows no certificate"),
        ("no certificate", TLS_1_3, "CERTIFICATE_REQUIRED", "the client shows no certificate"),
        ("another authority", TLS_1_2, "UNKNOWN_CA", "unable to get local issuer"),
        ("another authority", TLS_1_3, "UNKNOWN_CA", "unable to get local issuer"),
        ("expired", TLS_1_2, "CERTIFICATE_EXPIRED", "certificate has expired"),
        ("expired", TLS_1_3, "CERTIFICATE_EXPIRED", "certificate has expired"),
    ],
)
def test_client_gets_the_alert_and_the_log_a_line(
    broker: Broker,
    certificates: Certificates,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    fault: str,
    version: ssl.TLSVersion,
    alert: str,
    words: str,
) -> None:
    before = failures(broker)
    with caplog.at_level(logging.WARNING):
        context = faulty(fault, version, certificates, tmp_path)
        assert refusal(broker.port_of("ssl"), context).endswith(alert)
        assert eventually_nobody_is_connected(broker)
        (line,) = lines(caplog, 1)
    assert line.startswith("connection closed peer=127.0.0.1:")
    assert words in line
    assert failures(broker) == before + 1


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated")
@pytest.mark.parametrize(
    ("name", "version"), [("ssl", ssl.TLSVersion.TLSv1_1), ("modern", TLS_1_2)]
)
def test_version_that_is_too_low_is_named(
    broker: Broker,
    certificates: Certificates,
    caplog: pytest.LogCaptureFixture,
    name: str,
    version: ssl.TLSVersion,
) -> None:
    context = certificates.client_context()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version
    with caplog.at_level(logging.WARNING):
        assert refusal(broker.port_of(name), context).endswith("PROTOCOL_VERSION")
        (line,) = lines(caplog, 1)
    assert "ssl.enabled.protocols" in line


def test_alert_reaches_a_client_that_is_still_sending(
    broker: Broker, certificates: Certificates
) -> None:
    """Nothing that it has on the way may turn the end into a reset, which would take the alert."""
    context = certificates.client_context()
    context.minimum_version = TLS_1_3
    with TlsClient(broker.port_of("ssl"), context) as client:
        client.socket.sendall(bytes(EAGER_BYTES))
        with pytest.raises(ssl.SSLError) as caught:
            client.read(1)
    assert str(caught.value.reason).endswith("CERTIFICATE_REQUIRED")


def test_client_that_comes_again_and_again_is_counted_but_told_once(
    broker: Broker, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    before = failures(broker)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            refusal(broker.port_of("ssl"), certificates.client_context())
        assert eventually_nobody_is_connected(broker)
        assert len(lines(caplog, 1)) == 1
    assert failures(broker) == before + 3


@pytest.mark.parametrize(
    "words", [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\xff\xff"]
)
def test_whoever_does_not_speak_tls_gets_no_byte(broker: Broker, words: bytes) -> None:
    """A Kafka client would take an alert for the size of an answer."""
    with RawClient(broker.port_of("ssl")) as plain:
        plain.socket.sendall(words)
        assert plain.is_closed_by_peer()


def test_refused_client_that_stays_is_cut_off(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.frontends.common.tls_farewell.SECONDS_MAX", 0.05)
    settings = {**certificates.settings, "ssl.client.auth": "required"}
    context = certificates.client_context()
    context.minimum_version = TLS_1_3
    with (
        Broker(settings, listeners=["kafka+ssl://127.0.0.1:0"]) as broker,
        TlsClient(broker.port, context) as client,
    ):
        assert eventually_nobody_is_connected(broker)
        with pytest.raises(ssl.SSLError):
            client.read(1)
