"""The command line's own connection: over TLS and SASL, with librdkafka's names for the settings;
and quotas of users who have said who they are."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.cli.exit_codes import ExitCode
from headrace.cli.main import main
from headrace.testing import Broker
from tests.wire.calls import PRODUCE, batch, produce_request
from tests.wire.secure import Certificates, TlsClient, log_in_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS = "alice:secret,bob:other"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(certificates: Certificates) -> Iterator[Broker]:
    settings = {
        **certificates.settings,
        "headrace.sasl.users": USERS,
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "connection.failed.authentication.delay.ms": "20",
        "listener.name.mutual.ssl.client.auth": "required",
    }
    listeners = ["kafka+sasl_ssl://127.0.0.1:0", "kafka+ssl://127.0.0.1:0?name=mutual"]
    with Broker(settings, listeners=listeners) as broker:
        yield broker


def run(port: int, *arguments: str, **settings: str) -> int:
    options = [f"-X{name.replace('_', '.')}={value}" for name, value in settings.items()]
    return main(["quota", *arguments, *options, "--bootstrap", f"127.0.0.1:{port}"])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_verb_logs_in_over_tls(
    broker: Broker,
    certificates: Certificates,
    mechanism: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = run(
        broker.port_of("sasl_ssl"),
        "list",
        "--json",
        security_protocol="SASL_SSL",
        ssl_ca_location=certificates.authority,
        sasl_mechanism=mechanism,
        sasl_username="alice",
        sasl_password="secret",
    )
    captured = capsys.readouterr()
    assert status == ExitCode.OK, captured.err
    assert json.loads(captured.out) == []


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wrong_password_is_one_line_without_the_password(
    broker: Broker,
    certificates: Certificates,
    mechanism: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = run(
        broker.port_of("sasl_ssl"),
        "list",
        security_protocol="SASL_SSL",
        ssl_ca_location=certificates.authority,
        sasl_mechanism=mechanism,
        sasl_username="alice",
        sasl_password="hunter2",
    )
    error = capsys.readouterr().err
    assert status == ExitCode.FAILED
    assert "authentication failed" in error
    assert len(error.splitlines()) == 1
    assert "hunter2" not in error


def test_verb_shows_its_certificate(
    broker: Broker, certificates: Certificates, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run(
        broker.port_of("mutual"),
        "list",
        security_protocol="SSL",
        ssl_ca_location=certificates.authority,
        ssl_certificate_location=certificates.client,
    )
    assert status == ExitCode.OK, capsys.readouterr().err


def test_broker_of_another_authority_is_not_trusted(
    broker: Broker, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Certificates(tmp_path / "other")
    status = run(
        broker.port_of("mutual"), "list", security_protocol="SSL", ssl_ca_location=other.authority
    )
    assert status == ExitCode.FAILED
    assert "no TLS with" in capsys.readouterr().err


def test_one_users_quota_does_not_slow_down_another(
    broker: Broker, certificates: Certificates
) -> None:
    port, topic = broker.port_of("sasl_ssl"), broker.create_topic("t")
    alice = {
        "security_protocol": "SASL_SSL",
        "ssl_ca_location": certificates.authority,
        "sasl_mechanism": "PLAIN",
        "sasl_username": "alice",
        "sasl_password": "secret",
    }
    assert run(port, "set", "--user", "alice", "producer_byte_rate=1", **alice) == ExitCode.OK
    request = produce_request(topic, {0: batch(b"x" * 10_000)})
    context = certificates.client_context()
    with TlsClient(port, context) as slow, TlsClient(port, context) as quick:
        assert log_in_plain(slow, "alice", "secret").error_code == 0
        assert log_in_plain(quick, "bob", "other").error_code == 0
        throttle_ms = slow.call(PRODUCE, 9, request).throttle_time_ms
        assert throttle_ms > 60_000
        started = time.monotonic()
        for _ in range(10):
            assert quick.call(PRODUCE, 9, request).throttle_time_ms == 0
        assert time.monotonic() - started < throttle_ms / 1000
