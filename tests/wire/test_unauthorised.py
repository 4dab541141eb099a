"""Whoever may do nothing is refused by every API, learns nothing, and changes nothing.

There are two of them: one on a listener without a log-in, and a user who has proved who he is but
whom no rule names. Somebody else may do everything all the while.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

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
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)
from headrace.testing.broker import Broker
from tests.wire.calls import PRODUCE, batch, produce_request
from tests.wire.raw_client import RawClient
from tests.wire.secure import log_in_scram, principal_of
from tests.wire.unauthorised_table import ROWS, Names, Row, Stranger, offset_commit_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.server.launcher import Server

SETTINGS = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "headrace.sasl.users": "mallory:sesame,owner:sesame",
}
LISTENERS = ["kafka://127.0.0.1:0", "kafka+sasl://127.0.0.1:0"]
MALLORY, OWNER = Principal.user("mallory"), Principal.user("owner")
MISSING = Names("vault-b", b"\x77" * 16, "vault-b", "vault-b", "vault-b")
OFFSET_COMMIT, SASL_HANDSHAKE, INIT_PRODUCER_ID = 8, 17, 22
MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
EVERYTHING = [
    AclBinding(kind, name, PatternType.LITERAL, OWNER, "*", Operation.ALL, Permission.ALLOW)
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


class Guarded(NamedTuple):
    """A broker whose topic, group and transactional id belong to somebody else."""

    broker: Broker
    names: Names
    clients: dict[Stranger, RawClient]

    def ask(self, stranger: Stranger, row: Row, version: int, names: Names) -> Any:
        if row.key == SASL_HANDSHAKE:  # may begin something: on a connection of its own
            with connected(self.broker, stranger) as client:
                return client.call(row.key, version, row.build(names))
        return self.clients[stranger].call(row.key, version, row.build(names))


def connected(broker: Broker, stranger: Stranger) -> RawClient:
    if stranger is Stranger.ANONYMOUS:
        return RawClient(broker.port_of("plaintext"))
    client = RawClient(broker.port_of("sasl_plaintext"))
    assert log_in_scram(client, "mallory", "sesame").error_code == 0
    return client


def fill(broker: Broker) -> Names:
    """What there is, is made by its owner over the wire."""
    broker.create_topic("vault-a")
    broker.call(lambda server: access_of(server).create(EVERYTHING))
    topic_id = broker.call(lambda server: server.broker.topics.get("vault-a").id)  # type: ignore[union-attr]
    names = Names("vault-a", topic_id, "vault-a", "vault-a", "vault-a")
    with RawClient(broker.port_of("sasl_plaintext")) as owner:
        assert log_in_scram(owner, "owner", "sesame").error_code == 0
        produced = owner.call(PRODUCE, 9, produce_request("vault-a", {0: batch(b"secret")}))
        committed = owner.call(OFFSET_COMMIT, 9, offset_commit_request(names))
        begun = owner.call(INIT_PRODUCER_ID, 4, InitProducerIdRequest("vault-a", 10_000))
    assert codes_of([produced, committed, begun]) == set()
    return names


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    with Broker(SETTINGS, listeners=LISTENERS) as broker:
        names = fill(broker)
        with (
            connected(broker, Stranger.ANONYMOUS) as anonymous,
            connected(broker, Stranger.LOGGED_IN) as mallory,
        ):
            assert principal_of(broker, anonymous) == ANONYMOUS
            assert principal_of(broker, mallory) == MALLORY
            clients = {Stranger.ANONYMOUS: anonymous, Stranger.LOGGED_IN: mallory}
            yield Guarded(broker, names, clients)


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
    pytest.param(
        stranger,
        row,
        version,
        id=f"{stranger.value}-{row.key:02}-{API_NAMES[row.key]}-v{version}-{number}",
    )
    for stranger in Stranger
    for number, row in enumerate(ROWS)
    if row.key in HANDLERS and stranger in row.asked_by
    for version in row.versions
]


@pytest.mark.parametrize("stranger", Stranger)
def test_every_version_of_every_key_has_a_row(stranger: Stranger) -> None:
    rows = [row for row in ROWS if stranger in row.asked_by]
    for key, handler in HANDLERS.items():
        covered = {version for row in rows if row.key == key for version in row.versions}
        wanted = set(range(handler.version_min, handler.version_max + 1))
        assert covered == wanted, f"{API_NAMES[key]} has no row for {wanted - covered}"


@pytest.mark.parametrize(("stranger", "row", "version"), CASES)
def test_refused_with_the_code_of_kafka_and_nothing_changes(
    stranger: Stranger, row: Row, version: int, guarded: Guarded
) -> None:
    before = state_of(guarded.broker)
    answer = guarded.ask(stranger, row, version, guarded.names)
    assert codes_of(answer) == row.codes
    assert state_of(guarded.broker) == before


@pytest.mark.parametrize(
    ("stranger", "row", "version"), [case for case in CASES if not case.values[1].by_id]
)
def test_answer_does_not_tell_what_exists(
    stranger: Stranger, row: Row, version: int, guarded: Guarded
) -> None:
    """Ids aside: who knows those 16 random bytes knows that the topic exists."""
    existing = guarded.names
    of_existing = shown(guarded.ask(stranger, row, version, existing))
    of_missing = shown(guarded.ask(stranger, row, version, MISSING))
    told = of_existing.replace(repr(existing.topic_id), repr(MISSING.topic_id))
    assert told.replace("vault-a", "vault-b") == of_missing
    assert "secret" not in of_existing
    if not row.codes:
        assert "vault" not in of_existing
