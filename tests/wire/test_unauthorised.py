"""Whoever may do nothing is refused by every API, learns nothing, and changes nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
from headrace.codecs.kafka.messages import API_NAMES
from headrace.codecs.kafka.structure import Structure
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.coordination.metadata.record_codec import encode
from headrace.coordination.metadata.snapshot import snapshot_records
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.security.acl import (
    ANONYMOUS,
    CLUSTER_NAME,
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)
from headrace.testing.broker import Broker
from tests.wire.calls import batch, produce
from tests.wire.raw_client import RawClient
from tests.wire.unauthorised_table import ROWS, Names, Row, offset_commit_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.server.launcher import Server

SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"}
MISSING = Names("vault-b", b"\x77" * 16, "vault-b", "vault-b", "vault-b")
OFFSET_COMMIT, INIT_PRODUCER_ID = 8, 22
MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
EVERYTHING = [
    AclBinding(kind, name, PatternType.LITERAL, ANONYMOUS, "*", Operation.ALL, Permission.ALLOW)
    for kind, name in (
        (ResourceType.TOPIC, "*"),
        (ResourceType.GROUP, "*"),
        (ResourceType.TRANSACTIONAL_ID, "*"),
        (ResourceType.CLUSTER, CLUSTER_NAME),
    )
]


def access_of(server: Server) -> Any:
    assert server.broker.access is not None
    return server.broker.access


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[Broker, Names]]:
    """A broker with a topic, a group and a transactional id, whose client has lost all rights."""
    with Broker(SETTINGS) as broker:
        broker.create_topic("vault-a")
        broker.call(lambda server: access_of(server).create(EVERYTHING))
        topic_id = broker.call(lambda server: server.broker.topics.get("vault-a").id)  # type: ignore[union-attr]
        names = Names("vault-a", topic_id, "vault-a", "vault-a", "vault-a")
        with RawClient(broker.port) as client:
            produce(client, "vault-a", {0: batch(b"secret")})
            committed = client.call(OFFSET_COMMIT, 9, offset_commit_request(names))
            begun = client.call(INIT_PRODUCER_ID, 4, InitProducerIdRequest("vault-a", 10_000))
        assert codes_of(committed) | codes_of(begun) == set()
        broker.call(lambda server: access_of(server).delete([AclBindingFilter()]))
        yield broker, names


def codes_of(message: Any) -> set[int]:
    """All error codes of an answer, wherever they stand."""
    if isinstance(message, (list, tuple)):
        return {code for each in message for code in codes_of(each)}
    if not isinstance(message, Structure):
        return set()
    found: set[int] = set()
    for name in message.__slots__:
        value = getattr(message, name)
        found |= {value} if name.endswith("error_code") else codes_of(value)
    return found - {0}


def shown(message: Any) -> str:
    """An answer as text, without the addresses of its buffers."""
    return MEMORY_ADDRESS.sub("", repr(message))


def state_of(broker: Broker) -> Any:
    """Whatever a request could have changed."""

    def look(server: Server) -> Any:
        parts = server.broker
        records = snapshot_records(parts.store.state, parts.cluster.node_id)
        ends = {
            (topic.name, partition.index): (
                partition.log.log_start_offset,
                partition.log.high_watermark,
            )
            for topic in parts.topics
            for partition in topic.partitions
        }
        return [encode(record) for record in records], ends

    return broker.call(look)


CASES = [
    pytest.param(row, version, id=f"{row.key:02}-{API_NAMES[row.key]}-v{version}-{number}")
    for number, row in enumerate(ROWS)
    if row.key in HANDLERS
    for version in row.versions
]


def test_every_version_of_every_key_has_a_row() -> None:
    for key, handler in HANDLERS.items():
        covered = {version for row in ROWS if row.key == key for version in row.versions}
        wanted = set(range(handler.version_min, handler.version_max + 1))
        assert covered == wanted, f"{API_NAMES[key]} has no row for {wanted - covered}"


@pytest.mark.parametrize(("row", "version"), CASES)
def test_refused_with_the_code_of_kafka_and_nothing_changes(
    row: Row, version: int, guarded: tuple[Broker, Names]
) -> None:
    broker, existing = guarded
    before = state_of(broker)
    with RawClient(broker.port) as client:
        answer = client.call(row.key, version, row.build(existing))
    assert codes_of(answer) == row.codes
    assert state_of(broker) == before


@pytest.mark.parametrize(("row", "version"), [case for case in CASES if not case.values[0].by_id])
def test_answer_does_not_tell_what_exists(
    row: Row, version: int, guarded: tuple[Broker, Names]
) -> None:
    """Ids aside: who knows those 16 random bytes knows that the topic exists."""
    broker, existing = guarded
    with RawClient(broker.port) as client:
        of_existing = shown(client.call(row.key, version, row.build(existing)))
        of_missing = shown(client.call(row.key, version, row.build(MISSING)))
    told = of_existing.replace(repr(existing.topic_id), repr(MISSING.topic_id))
    assert told.replace("vault-a", "vault-b") == of_missing
    assert "secret" not in of_existing
    if not row.codes:
        assert "vault" not in of_existing
