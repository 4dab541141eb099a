"""The security options of Spark's Kafka connector, by their Java names, mean the same to both."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headrace.security.tls_certificates import Authority
from headrace.testing import Broker

from .connector_jars import connector
from .queries import batch, rows_in_order
from .topics import fill, new_topic

pytestmark = [pytest.mark.slow, pytest.mark.maven]

MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
RECORDS = 30


@pytest.fixture(scope="module", autouse=True)
def _with_the_connector():
    if connector().missing:
        pytest.skip(connector().missing)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority("authority", datetime.now(UTC), 1)
    server = authority.server(["localhost", "127.0.0.1"])
    (directory / "ca.pem").write_bytes(authority.key_pair.certificate)
    (directory / "server.pem").write_bytes(server.key + server.certificate)
    return directory


@pytest.fixture(scope="module")
def secured(certificates):
    settings = {
        "sasl.enabled.mechanisms": ",".join(MODULES),
        "headrace.sasl.users": "alice:secret",
        "ssl.keystore.location": str(certificates / "server.pem"),
        "log.retention.ms": "-1",
    }
    schemes = ("kafka", "kafka+ssl", "kafka+sasl", "kafka+sasl_ssl")
    with Broker(settings, listeners=[f"{scheme}://127.0.0.1:0" for scheme in schemes]) as broker:
        yield broker


def options_for(broker, certificates, protocol, mechanism=None, password="secret"):
    """As they stand in the documentation of Kafka's Java clients."""
    options = {
        "kafka.bootstrap.servers": f"localhost:{broker.port_of(protocol)}",
        "kafka.security.protocol": protocol.upper(),
    }
    if protocol.endswith("ssl"):
        options["kafka.ssl.truststore.type"] = "PEM"
        options["kafka.ssl.truststore.location"] = str(certificates / "ca.pem")
    if mechanism is not None:
        options["kafka.sasl.mechanism"] = mechanism
        options["kafka.sasl.jaas.config"] = (
            f'{MODULES[mechanism]} required username="alice" password="{password}";'
        )
    return options


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [
        ("ssl", None),
        ("sasl_plaintext", "PLAIN"),
        ("sasl_plaintext", "SCRAM-SHA-512"),
        ("sasl_ssl", "SCRAM-SHA-512"),
    ],
)
def test_the_same_rows_with_the_same_options(spark, secured, certificates, protocol, mechanism):
    topic = new_topic(secured, 2)
    fill(secured, topic, RECORDS)
    options = {"subscribe": topic, **options_for(secured, certificates, protocol, mechanism)}
    found = {
        source: rows_in_order(batch(spark, secured, options, source=source))
        for source in ("kafka", "headrace")
    }
    assert len(found["kafka"]) == RECORDS
    assert found["headrace"] == found["kafka"]


def test_a_wrong_password_opens_neither(spark, secured, certificates):
    topic = new_topic(secured, 1)
    options = options_for(secured, certificates, "sasl_plaintext", "PLAIN", password="guess")
    for source, words in (("kafka", "SaslAuthenticationException"), ("headrace", "Authenticat")):
        with pytest.raises(Exception, match=words):
            batch(spark, secured, {"subscribe": topic, **options}, source=source).count()
