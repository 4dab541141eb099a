"""Java's names of client options become librdkafka's; secrets never show up in an error."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from headrace.pipeline.client_settings import librdkafka_settings, timeout_seconds
from headrace.pipeline.errors import UnusableClientOption

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}
PACKAGE = "org.apache.kafka.common.security"


def translated(role="consumer", **settings: str) -> dict[str, str]:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return librdkafka_settings(SERVERS | given, role)


def with_jaas(line: str) -> dict[str, str]:
    return translated(sasl_jaas_config=line)


@pytest.mark.parametrize("module", ["plain.PlainLoginModule", "scram.ScramLoginModule"])
def test_name_and_password_come_from_the_jaas_line(module: str):
    found = with_jaas(f'{PACKAGE}.{module} required\n  username="ann"   password="a\\"b;c d";')
    assert found["sasl.username"] == "ann"
    assert found["sasl.password"] == 'a"b;c d'
    assert "sasl.jaas.config" not in found


def test_jaas_values_may_be_bare_or_in_single_quotes():
    found = with_jaas("PlainLoginModule required username=ann password='p w';")
    assert (found["sasl.username"], found["sasl.password"]) == ("ann", "p w")


def test_token_login_uses_the_endpoint():
    line = 'OAuthBearerLoginModule required clientId="me" clientSecret="s" scope="read";'
    found = with_jaas(line)
    assert found["sasl.oauthbearer.method"] == "oidc"
    assert found["sasl.oauthbearer.client.id"] == "me"
    assert found["sasl.oauthbearer.client.secret"] == "s"
    assert found["sasl.oauthbearer.scope"] == "read"


def test_kerberos_takes_key_tab_and_principal():
    line = 'com.sun.security.auth.module.Krb5LoginModule required keyTab="/k" principal="p@R";'
    found = with_jaas(line)
    assert found["sasl.kerberos.keytab"] == "/k"
    assert found["sasl.kerberos.principal"] == "p@R"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("a.b.OwnLoginModule required password=secret;", "OwnLoginModule is not known"),
        ("PlainLoginModule required password=secret;", "username is missing"),
        ("PlainLoginModule password=secret", "expected 'MODULE required"),
        ("OAuthBearerLoginModule required token=secret;", "needs clientId"),
    ],
)
def test_useless_jaas_line_is_named_without_its_secret(line: str, told: str):
    with pytest.raises(UnusableClientOption, match=told) as failure:
        with_jaas(line)
    assert "secret" not in failure.value.message.replace("clientSecret", "")


def test_pem_stores_become_pem_files():
    found = translated(
        ssl_truststore_location="/ca.store",
        ssl_truststore_type="PEM",
        ssl_keystore_location="/k.pem",
    )
    assert found["ssl.ca.location"] == "/ca.store"
    assert found["ssl.certificate.location"] == found["ssl.key.location"] == "/k.pem"


def test_inline_pem_is_handed_on():
    settings = {
        "ssl.truststore.certificates": "CA",
        "ssl.keystore.certificate.chain": "CHAIN",
        "ssl.keystore.key": "KEY",
        "ssl.key.password": "p",
    }
    found = librdkafka_settings(SERVERS | settings, "producer")
    assert found["ssl.ca.pem"] == "CA"
    assert found["ssl.certificate.pem"] == "CHAIN"
    assert (found["ssl.key.pem"], found["ssl.key.password"]) == ("KEY", "p")


def test_pkcs12_key_store_is_used_as_it_is():
    found = translated(ssl_keystore_location="/k.p12", ssl_keystore_password="p")
    assert found["ssl.keystore.location"] == "/k.p12"
    assert found["ssl.keystore.password"] == "p"


@pytest.mark.parametrize(
    "settings",
    [
        {"ssl_truststore_location": "/trust.jks"},
        {"ssl_truststore_location": "/trust.p12"},
        {"ssl_truststore_location": "/trust.pem", "ssl_truststore_type": "JKS"},
        {"ssl_keystore_location": "/key.jks"},
        {"ssl_keystore_location": "/key", "ssl_keystore_type": "jks"},
    ],
)
def test_java_store_is_refused_with_advice(settings: dict[str, str]):
    with pytest.raises(UnusableClientOption, match="give PEM files"):
        translated(**settings)


def test_names_that_differ_are_translated():
    found = translated(receive_buffer_bytes="-1", send_buffer_bytes="1000", fetch_max_wait_ms="5")
    assert found["socket.receive.buffer.bytes"] == "0"
    assert found["socket.send.buffer.bytes"] == "1000"
    assert found["fetch.wait.max.ms"] == "5"


def test_host_name_check_can_be_switched_off_as_in_java():
    settings = {**SERVERS, "ssl.endpoint.identification.algorithm": ""}
    found = librdkafka_settings(settings, "admin")
    assert found["ssl.endpoint.identification.algorithm"] == "none"


def test_options_that_only_java_has_are_left_out():
    found = translated(
        max_poll_records="5", key_deserializer="x", default_api_timeout_ms="1", ssl_protocol="TLS"
    )
    assert found.keys() == {"bootstrap.servers", "client.id"}


def test_narrowed_protocols_are_told(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        found = translated(ssl_enabled_protocols="TLSv1.3")
    assert "ssl.enabled.protocols" not in found
    assert "kafka.ssl.enabled.protocols has no effect" in caplog.text


def test_admin_client_gets_only_what_every_client_has():
    settings = {**SERVERS, "fetch.min.bytes": "1", "acks": "all", "client.id": "me"}
    assert librdkafka_settings(settings, "admin") == {**SERVERS, "client.id": "me"}
    assert librdkafka_settings(settings, "producer")["acks"] == "all"


def test_missing_address_is_an_error():
    with pytest.raises(UnusableClientOption, match=r"bootstrap\.servers is missing"):
        librdkafka_settings({}, "admin")


@pytest.mark.parametrize("text", ["soon", "0", "-5"])
def test_time_out_must_be_a_number_above_zero(text: str):
    with pytest.raises(UnusableClientOption, match=r"request\.timeout\.ms"):
        timeout_seconds({"request.timeout.ms": text}, "request.timeout.ms", 1000)
    assert timeout_seconds({}, "request.timeout.ms", 1500) == 1.5


def test_library_accepts_what_is_translated():
    settings = {
        **SERVERS,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": 'ScramLoginModule required username="u" password="p";',
        "request.timeout.ms": "1000",
        "fetch.max.wait.ms": "5",
    }
    AdminClient(librdkafka_settings(settings, "admin"))
    Producer(librdkafka_settings(settings, "producer"))
    Consumer({**librdkafka_settings(settings, "consumer"), "group.id": "g"}).close()


JAVA_OPTIONS = {
    "auto.include.jmx.reporter": "true",
    "client.dns.lookup": "use_all_dns_ips",
    "client.rack": "a",
    "config.providers": "file",
    "connections.max.idle.ms": "540000",
    "default.api.timeout.ms": "60000",
    "enable.metrics.push": "true",
    "interceptor.classes": "",
    "metadata.max.age.ms": "300000",
    "metadata.recovery.strategy": "rebootstrap",
    "metadata.recovery.rebootstrap.trigger.ms": "300000",
    "metric.reporters": "",
    "metrics.num.samples": "2",
    "metrics.recording.level": "INFO",
    "metrics.sample.window.ms": "30000",
    "receive.buffer.bytes": "65536",
    "reconnect.backoff.max.ms": "1000",
    "reconnect.backoff.ms": "50",
    "request.timeout.ms": "30000",
    "retry.backoff.max.ms": "1000",
    "retry.backoff.ms": "100",
    "sasl.kerberos.kinit.cmd": "kinit",
    "sasl.kerberos.min.time.before.relogin": "60000",
    "sasl.kerberos.ticket.renew.jitter": "0.05",
    "sasl.kerberos.ticket.renew.window.factor": "0.8",
    "sasl.login.refresh.buffer.seconds": "300",
    "sasl.oauthbearer.clock.skew.seconds": "30",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "3600000",
    "security.protocol": "PLAINTEXT",
    "security.providers": "",
    "send.buffer.bytes": "131072",
    "socket.connection.setup.timeout.max.ms": "30000",
    "socket.connection.setup.timeout.ms": "10000",
    "ssl.engine.factory.class": "",
    "ssl.keymanager.algorithm": "SunX509",
    "ssl.protocol": "TLSv1.3",
    "ssl.trustmanager.algorithm": "PKIX",
}
OF_CONSUMERS = {
    "allow.auto.create.topics": "true",
    "auto.commit.interval.ms": "5000",
    "check.crcs": "true",
    "exclude.internal.topics": "true",
    "fetch.max.bytes": "52428800",
    "fetch.max.wait.ms": "500",
    "fetch.min.bytes": "1",
    "group.id": "g",
    "group.protocol": "classic",
    "heartbeat.interval.ms": "3000",
    "isolation.level": "read_uncommitted",
    "max.partition.fetch.bytes": "1048576",
    "max.poll.interval.ms": "300000",
    "max.poll.records": "500",
    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "session.timeout.ms": "45000",
}
OF_PRODUCERS = {
    "acks": "all",
    "batch.size": "16384",
    "buffer.memory": "33554432",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "zstd",
    "compression.zstd.level": "3",
    "delivery.timeout.ms": "120000",
    "enable.idempotence": "true",
    "linger.ms": "5",
    "max.block.ms": "60000",
    "max.in.flight.requests.per.connection": "5",
    "max.request.size": "1048576",
    "metadata.max.idle.ms": "300000",
    "partitioner.adaptive.partitioning.enable": "true",
    "partitioner.availability.timeout.ms": "0",
    "partitioner.ignore.keys": "false",
    "retries": "2147483647",
    "transaction.timeout.ms": "60000",
}


def test_library_takes_every_option_of_a_java_client():
    """With the values of Java: a job that names its defaults must not fail on them."""
    shared = SERVERS | JAVA_OPTIONS
    AdminClient(librdkafka_settings(shared, "admin"))
    Producer(librdkafka_settings(shared | OF_PRODUCERS, "producer"))
    Consumer(librdkafka_settings(shared | OF_CONSUMERS, "consumer")).close()
