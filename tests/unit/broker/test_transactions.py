"""The door to transactions: creating, placing, ending, loading, timing out, restarting."""

from __future__ import annotations

import pytest

from headrace.broker import shard_loading
from headrace.broker.groups import partition_of
from headrace.broker.transactions import transaction_settings
from headrace.config.broker import BrokerConfig
from headrace.coordination.transactions.commands import (
    AddOffsets,
    DescribeTransaction,
    InitProducerId,
    ListedTransaction,
    ListTransactions,
    ProducerIdentity,
)
from headrace.coordination.transactions.registry import TransactionSettings
from headrace.model.errors import (
    CoordinatorLoading,
    CoordinatorNotAvailable,
    DiskFull,
    InvalidProducerIdMapping,
    InvalidRegularExpression,
    InvalidRequest,
    InvalidTransactionState,
    NotCoordinator,
    ProducerFenced,
    TransactionAbortable,
    TransactionalIdNotFound,
)
from headrace.model.topic import (
    CONSUMER_OFFSETS_TOPIC,
    TRANSACTION_STATE_TOPIC,
    TopicPartition,
)
from headrace.storage.atomic_append import ENTRIES_MAX
from headrace.testing.transaction_door import (
    TransactionalProducer,
    TransactionDoor,
    committed_values,
)


@pytest.fixture
def door() -> TransactionDoor:
    door = TransactionDoor()
    door.bench.create("orders", 2)
    return door


def begun(door: TransactionDoor, **options: int) -> TransactionalProducer:
    """A producer with one record in each partition of an open transaction."""
    producer = TransactionalProducer(door, **options).initialise()
    if producer.client_version < 2:
        producer.add(("orders", 0), ("orders", 1))
    producer.send("orders", 0, b"a")
    producer.send("orders", 1, b"b")
    return producer


def shown(door: TransactionDoor) -> list[list[bytes | None]]:
    return [committed_values(door.log("orders", index)) for index in range(2)]


# --- the topic ----------------------------------------------------------------------------------


def test_topic_is_made_on_first_use() -> None:
    door = TransactionDoor({"transaction.state.log.segment.bytes": "2000000"})
    assert TRANSACTION_STATE_TOPIC not in door.bench.topics
    TransactionalProducer(door, "some-id").initialise()
    topic = door.bench.topics.get(TRANSACTION_STATE_TOPIC)
    assert topic is not None
    assert len(topic.partitions) == 2
    assert topic.config.cleanup_policy == {"compact"}
    assert topic.config.segment_bytes == 2_000_000
    assert topic.partitions[partition_of("some-id", 2)].log.log_end_offset == 1


def test_settings_are_those_of_the_broker() -> None:
    expected = TransactionSettings(partitions_max=ENTRIES_MAX - 1)
    assert transaction_settings(BrokerConfig.resolve({})) == expected


def test_disk_that_refuses_the_topic_is_told_as_no_coordinator() -> None:
    door = TransactionDoor()
    door.bench.disk.fail_next("write", DiskFull("no space left"))
    reply = door.submit("t", InitProducerId("t", 1000))
    assert isinstance(reply, CoordinatorNotAvailable)


@pytest.mark.parametrize("transactional_id", ["", "x" * 32_768])
def test_illegal_id_is_refused(door: TransactionDoor, transactional_id: str) -> None:
    reply = door.submit(transactional_id, InitProducerId(transactional_id, 1000))
    assert isinstance(reply, InvalidRequest)


# --- ending -------------------------------------------------------------------------------------


@pytest.mark.parametrize("client_version", [0, 2])
def test_commit_shows_the_records_of_all_partitions(
    door: TransactionDoor, client_version: int
) -> None:
    producer = begun(door, client_version=client_version)
    assert shown(door) == [[], []]
    assert [door.log("orders", index).last_stable_offset for index in range(2)] == [0, 0]
    producer.commit()
    assert shown(door) == [[b"a"], [b"b"]]
    assert [door.log("orders", index).last_stable_offset for index in range(2)] == [2, 2]


@pytest.mark.parametrize("client_version", [0, 2])
def test_abort_shows_nothing(door: TransactionDoor, client_version: int) -> None:
    producer = begun(door, client_version=client_version)
    producer_id = producer.identity.producer_id
    producer.abort()
    assert shown(door) == [[], []]
    log = door.log("orders", 0)
    assert log.last_stable_offset == log.log_end_offset == 2
    assert log.aborted_transactions(0, 2) == [(producer_id, 0)]


@pytest.mark.parametrize("client_version", [0, 2])
def test_producer_goes_on_with_the_next_transaction(
    door: TransactionDoor, client_version: int
) -> None:
    producer = begun(door, client_version=client_version)
    first = producer.identity
    producer.commit()
    assert producer.identity.producer_id == first.producer_id
    assert producer.identity.epoch == first.epoch + (client_version == 2)
    if client_version < 2:
        producer.add(("orders", 0))
    producer.send("orders", 0, b"c", b"d")
    producer.commit()
    assert shown(door) == [[b"a", b"c", b"d"], [b"b"]]


def test_end_and_its_markers_are_one_append(door: TransactionDoor) -> None:
    producer = begun(door)
    state = door.log(TRANSACTION_STATE_TOPIC, partition_of("t", 2))
    before = [state.log_end_offset, *(door.log("orders", i).log_end_offset for i in range(2))]
    door.bench.disk.fail_next("write", DiskFull("no space left"))
    with pytest.raises(CoordinatorNotAvailable):
        producer.commit()
    after = [state.log_end_offset, *(door.log("orders", i).log_end_offset for i in range(2))]
    assert after == before
    producer.commit()
    assert shown(door) == [[b"a"], [b"b"]]


def test_deleted_topic_gets_no_marker(door: TransactionDoor) -> None:
    door.bench.create("gone")
    producer = begun(door)
    producer.send("gone")
    door.bench.changes.delete("gone")
    producer.commit()
    assert shown(door) == [[b"a"], [b"b"]]


def test_group_partition_gets_a_marker_and_the_groups_are_told(
    door: TransactionDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int, int, bool]] = []
    monkeypatch.setattr(door.groups, "transaction_ended", lambda *end: told.append(end))
    producer = begun(door)
    place = door.groups.partition_of_group("group")
    assert door.submit("t", AddOffsets("t", producer.identity, place.partition)) is None
    log = door.log(*place)
    end_offset = log.log_end_offset
    producer.commit()
    assert log.log_end_offset == end_offset + 1
    producer_id, epoch = producer.identity
    assert told == [(place.partition, producer_id, epoch, True)]


# --- who may write ------------------------------------------------------------------------------


def test_older_client_must_have_added_the_partition(door: TransactionDoor) -> None:
    producer = TransactionalProducer(door, client_version=0).initialise()
    producer.add(("orders", 0))
    producer.send("orders", 0)
    with pytest.raises(TransactionAbortable):
        producer.send("orders", 1)


def test_batch_after_the_end_is_refused(door: TransactionDoor) -> None:
    producer = begun(door, client_version=0)
    producer.commit()
    with pytest.raises(TransactionAbortable):
        producer.send("orders", 0)


def test_successor_aborts_and_fences(door: TransactionDoor) -> None:
    old = begun(door)
    new = TransactionalProducer(door).initialise()
    assert new.identity.producer_id == old.identity.producer_id
    assert new.identity.epoch > old.identity.epoch
    assert shown(door) == [[], []]
    assert door.log("orders", 0).last_stable_offset == 2
    for forbidden in (old.commit, old.abort, lambda: old.send("orders", 0)):
        with pytest.raises(ProducerFenced):
            forbidden()
    new.send("orders", 0, b"new")
    new.commit()
    assert shown(door) == [[b"new"], []]


def test_fenced_producer_cannot_use_the_partitions_of_its_successor(door: TransactionDoor) -> None:
    """The log itself knows nothing of either, so the coordinator has to tell them apart."""
    old = TransactionalProducer(door).initialise()
    new = TransactionalProducer(door, client_version=0).initialise()
    new.add(("orders", 1))
    with pytest.raises(ProducerFenced):
        old.send("orders", 1)
    assert door.log("orders", 1).log_end_offset == 0


def test_stranger_is_refused(door: TransactionDoor) -> None:
    begun(door)
    stranger = TransactionalProducer(door)
    stranger.identity = ProducerIdentity(4711, 0)
    with pytest.raises(InvalidProducerIdMapping):
        stranger.send("orders", 0)


def test_time_out_aborts_and_fences(door: TransactionDoor) -> None:
    producer = begun(door, timeout_ms=10_000)
    door.pass_seconds(9)
    assert door.log("orders", 0).last_stable_offset == 0
    door.pass_seconds(2)
    assert door.log("orders", 0).last_stable_offset == 2
    assert shown(door) == [[], []]
    with pytest.raises(ProducerFenced):
        producer.commit()
    with pytest.raises(ProducerFenced):
        producer.send("orders", 0)


def test_time_out_is_tried_again_when_the_disk_is_full(door: TransactionDoor) -> None:
    begun(door, timeout_ms=10_000)
    door.bench.disk.fail_next("write", DiskFull("no space left"))
    door.pass_seconds(10)
    assert door.log("orders", 0).last_stable_offset == 0
    door.pass_seconds(2)
    assert door.log("orders", 0).last_stable_offset == 2


def test_commit_of_nothing_is_refused(door: TransactionDoor) -> None:
    with pytest.raises(InvalidTransactionState):
        TransactionalProducer(door).initialise().commit()


def test_id_that_nobody_uses_is_forgotten() -> None:
    door = TransactionDoor(
        {
            "transactional.id.expiration.ms": "5000",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
        }
    )
    TransactionalProducer(door).initialise()
    door.pass_seconds(4)
    assert not isinstance(door.submit("t", DescribeTransaction("t")), Exception)
    door.pass_seconds(2)
    assert isinstance(door.submit("t", DescribeTransaction("t")), TransactionalIdNotFound)


# --- starting and stopping ----------------------------------------------------------------------


@pytest.mark.parametrize("is_clean", [True, False])
def test_open_transaction_outlives_the_process(door: TransactionDoor, is_clean: bool) -> None:
    producer = begun(door)
    door.restart() if is_clean else door.crash()
    assert shown(door) == [[], []]
    producer.send("orders", 0, b"c")
    producer.commit()
    assert shown(door) == [[b"a", b"c"], [b"b"]]


def test_time_out_counts_on_after_a_restart(door: TransactionDoor) -> None:
    begun(door, timeout_ms=10_000)
    door.pass_seconds(8)
    door.crash()
    door.pass_seconds(3)
    assert door.log("orders", 0).last_stable_offset == 2


def test_long_log_is_read_while_others_are_served(
    door: TransactionDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(30):
        TransactionalProducer(door).initialise()
    monkeypatch.setattr(shard_loading, "RECORDS_BEFORE_SERVING_MAX", 10)
    monkeypatch.setattr(shard_loading, "RECORDS_PER_SLICE", 10)
    door.transactions.close()
    door.bench.settle()
    door.bench.logs.close()
    door.bench.store.close()
    door.bench.disk.kill()
    door.bench.start()
    door.open()
    assert isinstance(door.submit("t", DescribeTransaction("t")), CoordinatorLoading)
    with pytest.raises(CoordinatorLoading):
        door.transactions.enlist("t", ProducerIdentity(0, 0), frozenset(), 2)
    replies: list[object] = []
    door.transactions.list_transactions(ListTransactions(), replies.append)
    assert isinstance(replies[0], CoordinatorLoading)
    door.pass_seconds(0.1)
    assert door.submit("t", DescribeTransaction("t")).producer.epoch == 29


def test_nothing_is_coordinated_after_the_close(door: TransactionDoor) -> None:
    producer = begun(door, timeout_ms=1_000)
    door.transactions.close()
    with pytest.raises(NotCoordinator):
        producer.commit()
    door.pass_seconds(10)
    assert door.log("orders", 0).last_stable_offset == 0


def test_deleting_the_topic_forgets_all_and_leaves_nothing_open(door: TransactionDoor) -> None:
    producer = begun(door)
    door.bench.changes.delete(TRANSACTION_STATE_TOPIC)
    assert door.log("orders", 0).last_stable_offset == 2
    assert shown(door) == [[], []]
    with pytest.raises(InvalidProducerIdMapping):
        producer.commit()


# --- administration -----------------------------------------------------------------------------


def listed(door: TransactionDoor, command: ListTransactions) -> object:
    replies: list[object] = []
    door.transactions.list_transactions(command, replies.append)
    return replies[0]


def test_all_shards_are_listed(door: TransactionDoor) -> None:
    producers = [TransactionalProducer(door, f"id-{n}").initialise() for n in range(5)]
    producers[3].send("orders", 0)
    found = listed(door, ListTransactions(states=frozenset({"Ongoing", "Nonsense"})))
    producer_id = producers[3].identity.producer_id
    assert found == (("Nonsense",), (ListedTransaction("id-3", producer_id, "Ongoing"),))
    found = listed(door, ListTransactions(pattern="id-[12]"))
    assert {each.transactional_id for each in found.transactions} == {"id-1", "id-2"}


def test_listing_before_the_first_transaction() -> None:
    door = TransactionDoor()
    assert listed(door, ListTransactions(states=frozenset({"Nonsense"}))) == (("Nonsense",), ())
    assert isinstance(listed(door, ListTransactions(pattern="(")), InvalidRegularExpression)


def test_open_transaction_is_described(door: TransactionDoor) -> None:
    producer = begun(door)
    described = door.submit("t", DescribeTransaction("t"))
    assert described.state == "Ongoing"
    assert described.producer == producer.identity
    assert described.partitions == (TopicPartition("orders", 0), TopicPartition("orders", 1))
    assert CONSUMER_OFFSETS_TOPIC not in door.bench.topics


# --- metrics ------------------------------------------------------------------------------------


def test_transactions_are_counted_by_how_they_end(door: TransactionDoor) -> None:
    producer = begun(door)
    producer.commit()
    producer.abort()  # of nothing, which is no transaction
    producer.send("orders", 0)
    producer.abort()
    producer.send("orders", 0)
    TransactionalProducer(door).initialise()  # takes over, and aborts
    assert door.counters.by_result() == {"committed": 1, "aborted": 2, "timed_out": 0}
    assert door.counters.producers_fenced == 0
    with pytest.raises(ProducerFenced):
        producer.commit()
    with pytest.raises(ProducerFenced):
        producer.send("orders", 0)
    assert door.counters.producers_fenced == 2


def test_time_out_is_not_counted_as_an_abort(door: TransactionDoor) -> None:
    begun(door, timeout_ms=10_000)
    door.pass_seconds(11)
    assert door.counters.by_result() == {"committed": 0, "aborted": 0, "timed_out": 1}
    begun(door, timeout_ms=60_000).abort()
    assert door.counters.by_result() == {"committed": 0, "aborted": 1, "timed_out": 1}


def test_end_that_cannot_be_written_is_not_counted(door: TransactionDoor) -> None:
    producer = begun(door)
    door.bench.disk.fail_next("write", DiskFull("no space left"))
    with pytest.raises(CoordinatorNotAvailable):
        producer.commit()
    assert door.counters.committed == 0


def test_open_transactions_are_shown_with_the_age_of_the_oldest(door: TransactionDoor) -> None:
    none = {"Ongoing": 0, "PrepareCommit": 0, "PrepareAbort": 0, "PrepareEpochFence": 0}
    assert door.transactions.open_transactions() == (none, 0.0)
    producer = begun(door)
    door.pass_seconds(3)
    TransactionalProducer(door, "other").initialise().send("orders", 1)
    door.pass_seconds(2)
    assert door.transactions.open_transactions() == ({**none, "Ongoing": 2}, 5.0)
    producer.commit()
    assert door.transactions.open_transactions() == ({**none, "Ongoing": 1}, 2.0)
