"""The table of refusals is Kafka's: a real Kafka answers the same requests with the same codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.codecs.kafka.generated.sasl_authenticate import SaslAuthenticateRequest
from headrace.codecs.kafka.generated.sasl_handshake import SaslHandshakeRequest
from headrace.codecs.kafka.messages import API_NAMES
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.frontends.kafka.served_apis import HANDLERS
from tests.wire.raw_client import RawClient
from tests.wire.test_unauthorised import codes_of
from tests.wire.unauthorised_table import ROWS, Names, Row

from .deadline import wait_until
from .kafka_tools import RealKafka, free_port, tools_missing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.maven]

API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE = 18, 17, 36
TIMEOUT_S = 30.0
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
DIFFERENT = {
    SASL_HANDSHAKE: "the client of Kafka has logged in already",
    SASL_AUTHENTICATE: "the client of Kafka has logged in already",
}


def settings(port: int, controller_port: int, client_port: int) -> dict[str, str]:
    """Kafka's own traffic is ANONYMOUS, a super user; clients that log in are nobody."""
    inner = f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}"
    listeners = f"{inner},GUARDED://127.0.0.1:{client_port}"
    return {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "listeners": listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": (
            "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,GUARDED:SASL_PLAINTEXT"
        ),
        "listener.name.guarded.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.guarded.plain.sasl.jaas.config": f'{PLAIN_MODULE} user_mallory="secret";',
    }


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Names]]:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)
    directory: Path = tmp_path_factory.mktemp("guarded")
    client_port = free_port()
    kafka = RealKafka(directory)
    kafka.settings.update(settings(kafka._port, kafka._controller_port, client_port))
    kafka.format()
    with kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic("vault-a", 1, 1)])["vault-a"].result(TIMEOUT_S)
        names = Names("vault-a", topic_id_of(admin, "vault-a"), "vault-a", "vault-a", "vault-a")
        yield client_port, names


def is_known(admin: AdminClient, topic: str) -> bool:
    return admin.list_topics(timeout=TIMEOUT_S).topics.get(topic) is not None


def topic_id_of(admin: AdminClient, topic: str) -> bytes:
    # Kafka acknowledges a topic when its controller has it; the broker follows a moment later.
    wait_until(lambda: is_known(admin, topic), f"{topic} is known", TIMEOUT_S)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(TIMEOUT_S)
    halves = (
        described.topic_id.get_most_significant_bits(),
        described.topic_id.get_least_significant_bits(),
    )
    return b"".join(half.to_bytes(8, "big", signed=True) for half in halves)


def logged_in(port: int) -> RawClient:
    client = RawClient(port)
    handshake = client.call(SASL_HANDSHAKE, 1, SaslHandshakeRequest("PLAIN"))
    assert handshake.error_code == 0
    answer = client.call(SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(b"\0mallory\0secret"))
    assert answer.error_code == 0, answer.error_message
    return client


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.key:02}-{API_NAMES[row.key]}")
def test_kafka_refuses_with_the_same_codes(row: Row, guarded: tuple[int, Names]) -> None:
    port, names = guarded
    if row.key in DIFFERENT:
        pytest.skip(DIFFERENT[row.key])
    assert row.key in HANDLERS
    with logged_in(port) as client:
        served = client.call(API_VERSIONS, 3, ApiVersionsRequest("raw", "1"))
        limits = {each.api_key: (each.min_version, each.max_version) for each in served.api_keys}
        if row.key not in limits:
            pytest.skip("Kafka does not serve this to clients")
        low, high = limits[row.key]
        answers = {
            version: codes_of(client.call(row.key, version, row.build(names)))
            for version in row.versions
            if low <= version <= high
        }
    assert answers == dict.fromkeys(answers, row.codes)
