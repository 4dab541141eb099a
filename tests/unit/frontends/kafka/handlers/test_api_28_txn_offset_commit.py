"""TxnOffsetCommit in all its versions, and what OffsetFetch says until the transaction ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.codecs.kafka.generated.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from headrace.codecs.kafka.generated.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from headrace.coordination.transactions.commands import ProducerIdentity
from headrace.frontends.kafka.handlers import api_09_offset_fetch, api_28_txn_offset_commit
from headrace.model.errors import (
    ConcurrentTransactions,
    CoordinatorLoading,
    HeadraceError,
    InvalidProducerIdMapping,
    ProducerFenced,
    TransactionAbortable,
)
from headrace.security.acl import Operation, ResourceType
from headrace.testing.group_door import GroupDoor

if TYPE_CHECKING:
    from headrace.model.topic import TopicPartition

VERSIONS = range(6)
UNKNOWN_PARTITION, METADATA_TOO_LARGE, LOADING, NOT_AVAILABLE = 3, 12, 14, 15
ILLEGAL_GENERATION, INVALID_GROUP_ID, TOPIC_REFUSED, GROUP_REFUSED = 22, 24, 29, 30
INVALID_EPOCH, INVALID_STATE, INVALID_MAPPING, CONCURRENT = 47, 48, 49, 51
ID_REFUSED, UNSTABLE, ABORTABLE = 53, 88, 120
PRODUCER = ProducerIdentity(7, 2)


class FakeTransactions:
    """Lets everybody take part, unless told otherwise."""

    def __init__(self) -> None:
        self.enlisted: list[tuple[str, ProducerIdentity, int]] = []
        self.refuses_all: HeadraceError | None = None
        self.refuses_partition: HeadraceError | None = None

    def enlist(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: frozenset[TopicPartition],
        client_version: int,
    ) -> dict[TopicPartition, HeadraceError]:
        self.enlisted.append((transactional_id, producer, client_version))
        if self.refuses_all is not None:
            raise self.refuses_all
        refusal = self.refuses_partition
        return {} if refusal is None else dict.fromkeys(partitions, refusal)


class Door(GroupDoor):
    """``denied`` are the resources that nobody has a right to."""

    def __init__(self) -> None:
        super().__init__()
        self.transactions = FakeTransactions()
        self.denied: set[tuple[Operation, ResourceType, str]] = set()
        self.bench.create("t", 2)

    def context(self, version: int) -> Any:
        context = super().context(version)
        context.broker.access = SimpleNamespace(
            authorize=lambda principal, host, *right: right not in self.denied,
            note_denial=lambda *_: None,
        )
        return context


@pytest.fixture
def door() -> Door:
    return Door()


def commit_request(**changes: Any) -> TxnOffsetCommitRequest:
    """Partitions 0 and 5 of ``t``, of which there is only the first, and of a topic unheard of."""
    partitions = [TxnOffsetCommitRequestPartition(i, 40 + i, 3, "note") for i in (0, 5)]
    topics = [
        TxnOffsetCommitRequestTopic("t", partitions),
        TxnOffsetCommitRequestTopic("unheard", partitions[:1]),
    ]
    fields = {"group_id": "g", "transactional_id": "x", "topics": topics}
    return TxnOffsetCommitRequest(
        **{**fields, "producer_id": 7, "producer_epoch": 2, **changes}  # type: ignore[arg-type]
    )


def commit(door: Door, version: int = 3, **changes: Any) -> list[list[int]]:
    response = door.call(api_28_txn_offset_commit, commit_request(**changes), version)
    return [[each.error_code for each in topic.partitions] for topic in response.topics]


def fetch(door: Door, version: int) -> tuple[int, int, str]:
    """(code, offset, metadata) of the first partition, stable or not at all."""
    if version < 8:
        request = OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])], require_stable=True)
        response = door.call(api_09_offset_fetch, request, version)
        found = response.topics[0].partitions[0]
    else:
        topic = door.bench.topics.get("t")
        assert topic is not None
        wanted = OffsetFetchRequestTopics("t", topic.id, [0])
        groups = [OffsetFetchRequestGroup("g", topics=[wanted])]
        request = OffsetFetchRequest(groups=groups, require_stable=True)
        found = door.call(api_09_offset_fetch, request, version).groups[0].topics[0].partitions[0]
    return found.error_code, found.committed_offset, found.metadata


def end(door: Door, *, is_commit: bool) -> None:
    index = door.groups.partition_of_group("g").partition
    door.groups.transaction_ended(index, *PRODUCER, is_commit=is_commit)


@pytest.mark.parametrize("version", VERSIONS)
def test_each_partition_has_its_own_answer(door: Door, version: int) -> None:
    assert commit(door, version) == [[0, UNKNOWN_PARTITION], [UNKNOWN_PARTITION]]
    assert door.transactions.enlisted == [("x", PRODUCER, 2 if version >= 5 else 1)]


@pytest.mark.parametrize("version", range(7, 11))
def test_offset_is_unstable_until_the_transaction_commits(door: Door, version: int) -> None:
    commit(door)
    assert fetch(door, version) == (UNSTABLE, -1, "")
    assert fetch(door, 6) == (0, -1, "")  # knows nothing of stable offsets
    end(door, is_commit=True)
    assert fetch(door, version) == (0, 40, "note")


def test_offset_of_an_aborted_transaction_is_never_seen(door: Door) -> None:
    commit(door)
    end(door, is_commit=False)
    assert fetch(door, 9) == (0, -1, "")


@pytest.mark.parametrize(
    ("refusal", "version", "code"),
    [
        (ProducerFenced("newer"), 0, INVALID_EPOCH),
        (ProducerFenced("newer"), 5, INVALID_EPOCH),
        (InvalidProducerIdMapping("other"), 3, INVALID_MAPPING),
        (ConcurrentTransactions("ending"), 5, CONCURRENT),
        (CoordinatorLoading("reading"), 1, NOT_AVAILABLE),
        (CoordinatorLoading("reading"), 2, LOADING),
    ],
)
def test_refusal_of_the_transaction_is_told_for_each_partition(
    door: Door, refusal: HeadraceError, version: int, code: int
) -> None:
    door.transactions.refuses_all = refusal
    assert commit(door, version) == [[code, UNKNOWN_PARTITION], [UNKNOWN_PARTITION]]
    assert fetch(door, 9) == (0, -1, "")


@pytest.mark.parametrize(("version", "code"), [(3, INVALID_STATE), (4, ABORTABLE)])
def test_group_that_is_not_part_of_the_transaction_is_refused(
    door: Door, version: int, code: int
) -> None:
    door.transactions.refuses_partition = TransactionAbortable("not added")
    assert commit(door, version)[0][0] == code
    assert fetch(door, 9) == (0, -1, "")


def test_replaced_producer_is_refused_by_the_log(door: Door) -> None:
    commit(door)
    assert commit(door, producer_epoch=1)[0][0] == INVALID_EPOCH


def test_member_and_metadata_are_checked(door: Door) -> None:
    assert commit(door, generation_id=4, member_id="m")[0][0] == ILLEGAL_GENERATION
    assert commit(door, 2, generation_id=4, member_id="m")[0][0] == 0  # v2 has no such fields
    long = [TxnOffsetCommitRequestPartition(0, 1, -1, "x" * 5_000)]
    refused = commit(door, topics=[TxnOffsetCommitRequestTopic("t", long)])
    assert refused == [[METADATA_TOO_LARGE]]


def test_group_without_a_name_has_no_transactions(door: Door) -> None:
    assert commit(door, group_id="")[0][0] == INVALID_GROUP_ID


def test_request_without_a_known_partition_asks_nobody(door: Door) -> None:
    topics = [TxnOffsetCommitRequestTopic("unheard", [TxnOffsetCommitRequestPartition(0, 1)])]
    assert commit(door, 5, topics=topics) == [[UNKNOWN_PARTITION]]
    assert door.transactions.enlisted == []


@pytest.mark.parametrize(
    ("right", "codes"),
    [
        (
            (Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "x"),
            [[ID_REFUSED, ID_REFUSED], [ID_REFUSED]],
        ),
        (
            (Operation.READ, ResourceType.GROUP, "g"),
            [[GROUP_REFUSED, GROUP_REFUSED], [GROUP_REFUSED]],
        ),
        (
            (Operation.READ, ResourceType.TOPIC, "t"),
            [[TOPIC_REFUSED, TOPIC_REFUSED], [UNKNOWN_PARTITION]],
        ),
        (
            (Operation.READ, ResourceType.TOPIC, "unheard"),
            [[0, UNKNOWN_PARTITION], [TOPIC_REFUSED]],
        ),
    ],
)
def test_rights_are_needed_and_nothing_is_told_without_them(
    door: Door, right: tuple[Operation, ResourceType, str], codes: list[list[int]]
) -> None:
    door.denied = {right}
    assert commit(door) == codes
    assert len(door.transactions.enlisted) == (codes[0][0] == 0)
