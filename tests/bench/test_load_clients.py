"""The light clients of the bench against a real broker in this process."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.load.closed_loop import Load, all_partitions, run_load
from bench.load.fill import BATCH_BYTES_MAX, fill, plan
from bench.load.frames import ProduceFrames, batch_of
from bench.load.members import Membership
from bench.load.probe import NoAcknowledgement, Probe, seconds_to_first_record
from bench.load.reader import offset_after, reading
from bench.work.round_trips import TOPIC, exchange
from headrace.records.build import build_batch
from headrace.testing import Broker


@pytest.fixture(scope="module")
def broker():
    with Broker() as running:
        yield running


def load_for(topic, **options):
    frames = ProduceFrames(topic, batch_of(b"value", 3))
    return Load(all_partitions(frames, 2), connections=2, seconds=30.0, **options)


def test_a_closed_loop_sends_as_many_requests_as_it_may(broker):
    broker.create_topic("loop", partitions=2)
    outcome = run_load(broker.bootstrap_servers, load_for("loop", requests_max=50))
    assert outcome.requests == len(outcome.latencies_s) == 50
    assert outcome.requests_per_second == pytest.approx(50 / outcome.seconds)


def test_a_closed_loop_tells_of_a_refusal(broker):
    broker.create_topic("refusing", partitions=2)
    frames = ProduceFrames("refusing", b"this is no batch")
    with pytest.raises(RuntimeError, match="refused with error"):
        run_load(broker.bootstrap_servers, Load(all_partitions(frames, 2), 1, seconds=30.0))


def test_filling_stores_what_was_asked_for(broker):
    broker.create_topic("filled", partitions=3)
    assert fill(broker.bootstrap_servers, "filled", 3, 600_000) > 0
    with reading(broker.bootstrap_servers, "filled", 3) as result:
        pass
    assert result[0].size_bytes > 190_000


@given(st.integers(1, 1_000), st.integers(0, 10**11))
def test_a_filling_is_spread_evenly_in_batches_that_are_allowed(partitions, size_bytes):
    batch_bytes, rounds = plan(partitions, size_bytes)
    total = batch_bytes * rounds * partitions
    assert batch_bytes <= BATCH_BYTES_MAX
    assert size_bytes - total < partitions * (rounds + 1)
    assert total <= size_bytes


def test_the_probe_makes_its_topic_and_is_acknowledged(broker):
    address = broker.bootstrap_servers
    probe = Probe("probed", create=True)
    assert seconds_to_first_record(lambda: None, lambda: address, probe, 30.0) > 0
    Probe("probed").wait(address, 30.0)


def test_the_probe_gives_up_where_nobody_listens():
    with pytest.raises(NoAcknowledgement, match="within 0 s"):
        Probe("nowhere").wait("127.0.0.1:1", 0.0)


def test_pairs_exchange_records(broker):
    broker.create_topic(TOPIC, partitions=4)
    rate, trips_s = exchange(broker.bootstrap_servers, 4, seconds=0.2, warm_seconds=0.0)
    assert rate > 0
    assert 0 < trips_s["p50"] <= trips_s["p99"]


def test_a_group_settles_with_one_owner_for_each_partition(broker):
    broker.create_topic("shared", partitions=4)
    membership = Membership(broker.bootstrap_servers, "group", "shared", 4)
    try:
        started_s = time.perf_counter()
        membership.join(2)
        assert membership.seconds_to_settle(from_s=started_s) > 0
    finally:
        membership.close()


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 60))
def test_the_next_offset_follows_the_last_whole_batch(counts, missing_bytes):
    data, offsets = b"", [10]
    for count in counts:
        batch = build_batch([(None, b"v")] * count, base_offset=offsets[-1], timestamp_ms=1)
        data += batch
        offsets.append(offsets[-1] + count)
    whole = offset_after(memoryview(data), 10)
    cut = offset_after(memoryview(data)[: len(data) - missing_bytes], 10)
    assert whole == offsets[-1]
    assert cut == (offsets[-1] if missing_bytes == 0 else offsets[-2])
