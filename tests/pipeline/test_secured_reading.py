"""Reading from a broker that asks who one is, with the options that Spark's Kafka source takes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.model.errors import AuthenticationFailed, TopicAuthorizationFailed
from headrace.pipeline.broker_view import BrokerView
from headrace.pipeline.errors import BrokerUnreachable, StorageUnreachable
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.reading import ReadSettings, read_range
from headrace.security.acl import (
    AclBinding,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.security.tls_certificates import Authority
from headrace.testing import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
RECORDS = 20


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the certificates of an authority, a broker, and another authority."""
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority("authority", datetime.now(UTC), 1)
    server = authority.server(["localhost", "127.0.0.1"])
    stranger = Authority("stranger", datetime.now(UTC), 1)
    (directory / "ca.pem").write_bytes(authority.key_pair.certificate)
    (directory / "server.pem").write_bytes(server.key + server.certificate)
    (directory / "stranger.pem").write_bytes(stranger.key_pair.certificate)
    return directory


@pytest.fixture(scope="module")
def broker(authority: Path) -> Iterator[Broker]:
    """Everybody on the plain listener may do all; alice may read one topic, and nothing else."""
    settings = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": ",".join(MODULES),
        "headrace.sasl.users": "alice:se;cret",
        "ssl.keystore.location": str(authority / "server.pem"),
        "ssl.truststore.location": str(authority / "ca.pem"),
        "connection.failed.authentication.delay.ms": "20",
    }
    listeners = [
        "kafka://127.0.0.1:0",
        "kafka+sasl://127.0.0.1:0",
        "kafka+sasl_ssl://127.0.0.1:0",
    ]
    with Broker(settings, listeners=listeners) as broker:
        client = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 2})
        for topic in ("allowed", "secret"):
            broker.create_topic(topic)
            for number in range(RECORDS):
                client.produce(topic, b"%d" % number)
        client.flush()
        rule = AclBinding(
            ResourceType.TOPIC,
            "allowed",
            PatternType.LITERAL,
            Principal.user("alice"),
            "*",
            Operation.READ,
            Permission.ALLOW,
        )
        broker.call(lambda server: server.broker.access.create([rule]))  # type: ignore[union-attr]
        yield broker


def as_alice(broker: Broker, mechanism: str, password: str = "se;cret") -> dict[str, str]:
    return {
        "bootstrap.servers": f"127.0.0.1:{broker.port_of('sasl_plaintext')}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": (
            f'{MODULES[mechanism]} required username="alice" password="{password}";'
        ),
        "request.timeout.ms": "2000",
        "default.api.timeout.ms": "10000",
    }


def over_tls(broker: Broker, trusted: Path) -> dict[str, str]:
    return {
        **as_alice(broker, "SCRAM-SHA-512"),
        "bootstrap.servers": f"localhost:{broker.port_of('sasl_ssl')}",
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
        "ssl.endpoint.identification.algorithm": "https",
    }


def values(topic: str, settings: ReadSettings) -> list[bytes]:
    found = read_range(OffsetRange(topic, 0, 0, RECORDS), settings)
    return [value for columns in found for value in columns.batch.column("value").to_pylist()]


ALL = [b"%d" % number for number in range(RECORDS)]


@pytest.mark.parametrize("mechanism", list(MODULES))
@pytest.mark.parametrize("path", ["auto", "fetch"])
def test_right_to_read_the_topic_is_enough(broker: Broker, mechanism: str, path: str):
    kafka = as_alice(broker, mechanism)
    assert values("allowed", ReadSettings(kafka, path)) == ALL
    assert values("allowed", ReadSettings(kafka, path, is_committed=True)) == ALL


def test_place_of_the_files_is_a_secret_to_those_who_may_not_see_settings(broker: Broker):
    kafka = as_alice(broker, "PLAIN")
    with BrokerView(kafka) as view:
        assert view.log_directory() is None
    with pytest.raises(StorageUnreachable, match=r"set headrace\.storage\.url"):
        values("allowed", ReadSettings(kafka, "storage"))
    assert values("allowed", ReadSettings(kafka, "storage", broker.directory)) == ALL


@pytest.mark.parametrize("path", ["auto", "storage", "fetch"])
def test_topic_that_one_may_not_read_is_not_read_from_files_either(broker: Broker, path: str):
    kafka = as_alice(broker, "PLAIN")
    with pytest.raises(TopicAuthorizationFailed, match="secret"):
        values("secret", ReadSettings(kafka, path, broker.directory))


def test_over_tls_with_a_pem_trust_store(broker: Broker, authority: Path):
    kafka = over_tls(broker, authority / "ca.pem")
    assert values("allowed", ReadSettings(kafka, "fetch")) == ALL


def test_broker_of_another_authority_is_not_spoken_to(broker: Broker, authority: Path):
    kafka = {**over_tls(broker, authority / "stranger.pem"), "default.api.timeout.ms": "1500"}
    with pytest.raises(BrokerUnreachable, match=r"(?i)certificate"):
        values("allowed", ReadSettings(kafka))


@pytest.mark.parametrize("mechanism", list(MODULES))
def test_wrong_password_is_told_without_telling_it(broker: Broker, mechanism: str):
    kafka = as_alice(broker, mechanism, "n0t-it")
    with pytest.raises(AuthenticationFailed) as failure:
        values("allowed", ReadSettings(kafka))
    assert "n0t-it" not in str(failure.value)
