"""Idempotent producers and transactions, seen through a log."""

from __future__ import annotations

import pytest

from headrace.model.errors import (
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    StorageFailure,
)
from headrace.records.build import build_batch
from headrace.storage.log_port import Origin
from headrace.storage.producer_state import SEQUENCE_MASK, Producer, ProducerStates


def send(bench, log, sequence, *, count=1, producer=1, epoch=0, **fields):
    return bench.append(
        log,
        [b"v"] * count,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        **fields,
    )


def test_next_sequence_is_accepted(bench):
    log = bench.create()
    send(bench, log, 0, count=3)
    assert send(bench, log, 3).base_offset == 3


@pytest.mark.parametrize("sequence", [0, 2, 4, 100])
def test_other_sequence_is_out_of_order(bench, sequence):
    log = bench.create()
    send(bench, log, 0, count=3)
    with pytest.raises(OutOfOrderSequence):
        send(bench, log, sequence)
    assert log.log_end_offset == 3


def test_duplicate_is_answered_with_the_first_offset_and_nothing_is_written(bench):
    log = bench.create()
    for number in range(6):
        send(bench, log, number * 2, count=2)
    for number in range(1, 6):
        again = send(bench, log, number * 2, count=2)
        assert again.is_duplicate
        assert (again.base_offset, again.last_offset) == (number * 2, number * 2 + 1)
    assert log.log_end_offset == 12


def test_sixth_last_batch_is_no_known_duplicate(bench):
    log = bench.create()
    for number in range(6):
        send(bench, log, number)
    with pytest.raises(OutOfOrderSequence):
        send(bench, log, 0)


def test_duplicate_of_log_append_time_has_the_first_timestamp(bench):
    log = bench.create(message_timestamp_type="LogAppendTime")
    first = send(bench, log, 0)
    bench.clock.advance(5)
    again = send(bench, log, 0)
    assert again.is_duplicate
    assert again.log_append_time_ms == first.log_append_time_ms > 0


def test_sequence_wraps_around(bench):
    log = bench.create()
    send(bench, log, SEQUENCE_MASK - 1, count=4)
    assert send(bench, log, 2).base_offset == 4
    log = bench.create("wrap")
    send(bench, log, SEQUENCE_MASK)
    assert send(bench, log, 0).base_offset == 1


def test_unknown_producer_may_begin_anywhere(bench):
    log = bench.create()
    assert send(bench, log, 77).base_offset == 0


def test_new_epoch_begins_with_sequence_zero(bench):
    log = bench.create()
    send(bench, log, 0)
    with pytest.raises(OutOfOrderSequence):
        send(bench, log, 1, epoch=1)
    send(bench, log, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        send(bench, log, 1, epoch=0)


def test_old_epoch_cannot_begin_anew(bench):
    log = bench.create()
    send(bench, log, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        send(bench, log, 0, epoch=0)
    assert log.log_end_offset == 1


def test_batches_of_an_old_epoch_are_no_duplicates_of_the_new(bench):
    log = bench.create()
    send(bench, log, 0)
    send(bench, log, 0, epoch=1)
    assert send(bench, log, 0, epoch=1).is_duplicate
    assert log.log_end_offset == 2


def test_state_survives_clean_stop_and_kill(bench):
    log = bench.create()
    send(bench, log, 0)
    bench.restart()
    assert send(bench, bench.log(), 1).base_offset == 1
    bench.kill_and_start()
    assert send(bench, bench.log(), 1).is_duplicate
    with pytest.raises(OutOfOrderSequence):
        send(bench, bench.log(), 9)
    assert send(bench, bench.log(), 2).base_offset == 2


def test_idle_producers_expire(bench):
    log = bench.create()
    send(bench, log, 0)
    send(bench, log, 0, producer=2)
    bench.clock.advance(bench.config.producer_id_expiration_ms / 1000 - 1)
    send(bench, log, 1, producer=2)
    bench.clock.advance(2)
    bench.manager.run_housekeeping()
    assert [view.producer_id for view in log.producers()] == [2]


def test_open_transaction_holds_the_last_stable_offset(bench):
    log = bench.create()
    bench.append(log, [b"plain"])
    send(bench, log, 0, transactional=True)
    send(bench, log, 0, producer=2, transactional=True)
    assert (log.high_watermark, log.last_stable_offset) == (3, 1)
    bench.append_marker(log, 1, abort=False)
    assert log.last_stable_offset == 2
    bench.append_marker(log, 2, abort=True)
    assert (log.high_watermark, log.last_stable_offset) == (5, 5)
    assert log.aborted_transactions(0, 5) == [(2, 2)]


def test_aborted_transactions_are_those_that_touch_the_range(bench):
    log = bench.create(internal_segment_bytes="250")
    for producer in range(4):
        send(bench, log, 0, producer=producer, transactional=True)
        bench.append_marker(log, producer, abort=producer % 2 == 0)
    assert log.aborted_transactions(0, 8) == [(0, 0), (2, 4)]
    assert log.aborted_transactions(2, 8) == [(2, 4)]
    assert log.aborted_transactions(0, 4) == [(0, 0)]
    assert len(log.segments) > 1


def test_plain_batch_inside_a_transaction_is_refused(bench):
    log = bench.create()
    send(bench, log, 0, transactional=True)
    with pytest.raises(InvalidTransactionState):
        send(bench, log, 1)


def test_marker_with_a_newer_epoch_lets_sequences_begin_anew(bench):
    log = bench.create()
    send(bench, log, 0, transactional=True)
    bench.append_marker(log, 1, abort=False, epoch=1)
    send(bench, log, 0, epoch=1, transactional=True)
    assert log.last_stable_offset == 2


def test_transactions_survive_stop_and_kill(bench):
    log = bench.create()
    send(bench, log, 0, transactional=True)
    send(bench, log, 0, producer=2, transactional=True)
    bench.append_marker(log, 2, abort=True)
    for start in (bench.restart, bench.kill_and_start):
        start()
        log = bench.log()
        assert (log.high_watermark, log.last_stable_offset) == (3, 0)
        assert log.aborted_transactions(0, 3) == [(2, 1)]
    bench.append_marker(log, 1, abort=False)
    assert log.last_stable_offset == 4


def test_describe_shows_producers(bench):
    log = bench.create()
    send(bench, log, 5, count=2, epoch=3, transactional=True)
    (view,) = log.producers()
    assert (view.producer_id, view.producer_epoch, view.last_sequence) == (1, 3, 6)
    assert (view.transaction_start_offset, view.coordinator_epoch) == (0, -1)


def test_one_append_may_not_bring_a_producer_twice(bench):
    log = bench.create(durability="fsync")
    entries = [
        (
            log,
            build_batch(
                [(None, b"v")],
                timestamp_ms=1,
                producer_id=1,
                producer_epoch=0,
                base_sequence=number,
            ),
        )
        for number in range(2)
    ]
    with pytest.raises(Exception, match="two batches"):
        bench.manager.append(entries)
    assert log.log_end_offset == 0


def test_producers_that_could_be_read_only_in_part_are_read_again():
    attempts = []

    def load() -> None:
        attempts.append(len(attempts))
        states.restore([Producer(7, 0)])
        if len(attempts) == 1:
            raise StorageFailure("the snapshot cannot be read")

    states = ProducerStates(load)
    with pytest.raises(StorageFailure):
        states.get(7)
    assert states.get(7) is not None
    assert attempts == [0, 1]


def coordinator_writes(bench, log, epoch, **fields):
    """For a producer: offsets in its transaction, without sequences, or the marker."""
    batch = build_batch(
        [(b"k", b"v")],
        timestamp_ms=1,
        producer_id=1,
        producer_epoch=epoch,
        transactional=True,
        **fields,
    )
    return bench.manager.append([(log, batch)], origin=Origin.COORDINATOR)[0]


@pytest.mark.parametrize("storage", ["disk", "memory"])
@pytest.mark.parametrize("durability", ["page-cache", "fsync"])
def test_coordinator_writes_for_no_older_epoch(bench, storage, durability):
    log = bench.create(storage=storage, durability=durability)
    coordinator_writes(bench, log, 1)
    coordinator_writes(bench, log, 1)
    with pytest.raises(InvalidProducerEpoch):
        coordinator_writes(bench, log, 0)
    bench.append_marker(log, 1, abort=False, epoch=2)
    with pytest.raises(InvalidProducerEpoch):
        coordinator_writes(bench, log, 1)
    assert log.log_end_offset == 3
    coordinator_writes(bench, log, 2)
