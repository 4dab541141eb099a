"""The parts of the freshness soak that measure and judge, without Spark."""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.load.frames import ProduceFrames
from headrace.records.header import batches, crc_is_valid
from headrace.testing import Broker
from soak.freshness.ages import SECONDS_MAX, Ages
from soak.freshness.load import BATCH_RECORDS, LoadProcess, StampedRequest, pool
from soak.freshness.phases import WITHOUT, Phase, PhasedLatencies
from soak.freshness.result import (
    WITHOUT_JOB,
    FreshnessPlan,
    FreshnessResult,
    FreshnessSample,
)
from soak.freshness.table_watch import TableWatch
from soak.whole_topic import read_whole
from tests.interop.deadline import wait_until

PLAN = FreshnessPlan(900, 180, 50_000, 2, "local[2,4]", 0)
WAIT_SECONDS = 30.0


def write(directory, name, partitions, offsets, age_s=0.0):
    sent = datetime.fromtimestamp(time.time() - age_s, UTC)
    rows = {
        "partition": pa.array(partitions, pa.int32()),
        "offset": pa.array(offsets, pa.int64()),
        "timestamp": pa.array([sent] * len(offsets), pa.timestamp("us", "UTC")),
    }
    folder = directory / "date=2026-11-16" / "hour=13"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(rows), folder / f"{name}.parquet")
    return folder / f"{name}.parquet"


def test_only_new_records_have_an_age(tmp_path):
    watch = TableWatch(tmp_path, 3)
    assert len(watch.look()) == 0
    assert watch.lag([10, 10, 10]) == 0
    write(tmp_path, "a", [0, 0, 1], [5, 6, 9], age_s=30)
    ages_s = watch.look()
    assert len(ages_s) == 3
    assert np.all((ages_s >= 30) & (ages_s < 60))
    assert len(watch.look()) == 0
    assert watch.lag([10, 10, 10]) == 3
    assert (watch.records, watch.files) == (3, 1)


def test_compaction_makes_nothing_new(tmp_path):
    watch = TableWatch(tmp_path, 2)
    first, second = (write(tmp_path, str(n), [0, 1], [n, n]) for n in range(2))
    assert len(watch.look()) == 4
    first.unlink()
    second.unlink()
    write(tmp_path, "merged", [0, 0, 1, 1, 1], [0, 1, 0, 1, 2])
    assert len(watch.look()) == 1
    assert (watch.records, watch.files) == (5, 1)
    shutil.rmtree(tmp_path / "date=2026-11-16")
    assert len(watch.look()) == 0
    assert watch.lag([2, 4]) == 1


def test_percentiles_of_ages():
    ages = Ages()
    assert ages.take() == (0, 0)
    ages.add(np.arange(100) / 10)
    ages.add(np.array([5_000.0, -1.0]))
    assert ages.percentile(0.5) == pytest.approx(4.9)
    assert ages.percentile(1.0) == SECONDS_MAX
    assert ages.take() == (pytest.approx(4.9), pytest.approx(9.9))
    assert ages.take() == (0, 0)


def test_latencies_are_kept_apart_by_phase():
    latencies = PhasedLatencies()
    latencies.add(9)
    for phase, seconds in ((Phase.BEFORE, 0.001), (Phase.WITH, 0.004), (Phase.AFTER, 0.003)):
        latencies.phase = phase
        latencies.add(seconds)
    assert latencies.percentiles(Phase.WITH) == (4, 4)
    assert latencies.percentiles(*WITHOUT) == (3, 3)
    assert latencies.percentiles(Phase.STARTING) == (0, 0)
    assert latencies.take().p99_ms == 9_000


def result_with(lags, cost=1.2):
    empty = FreshnessSample(**dict.fromkeys([each.name for each in fields(FreshnessSample)], 0))
    result = FreshnessResult(PLAN, records_in_table=1)
    result.samples = [replace(empty, phase=Phase.WITH.value, lag_records=lag) for lag in lags]
    result.produce_p99_ms = {WITHOUT_JOB: 2.0, Phase.WITH.value: 2.0 * cost}
    return result


def test_steady_and_cheap_is_clean():
    assert result_with([100_000] * 40).is_clean
    assert result_with([0] * 40).is_clean


@pytest.mark.parametrize(
    "spoil",
    [
        lambda result: setattr(result, "records_missing", 1),
        lambda result: setattr(result, "records_repeated", 1),
        lambda result: setattr(result, "records_in_table", 0),
        lambda result: result.failures.append("no"),
        lambda result: result.produce_p99_ms.update({Phase.WITH.value: 3.1}),
        lambda result: result.produce_p99_ms.clear(),
    ],
)
def test_everything_that_is_wrong_counts(spoil):
    result = result_with([100_000] * 40)
    spoil(result)
    assert not result.is_clean


@pytest.mark.parametrize(("before", "after"), [(42.9, 0.8), (0.8, 42.9)])
def test_a_quiet_phase_that_was_not_quiet_is_nothing_to_compare_with(before, after):
    result = result_with([0] * 40)
    result.produce_p99_ms |= {Phase.BEFORE.value: before, Phase.AFTER.value: after}
    assert result.is_disturbed
    assert not result.is_clean


def test_lag_that_grows_is_seen():
    assert result_with(range(0, 4_000_000, 100_000)).lag_has_grown
    assert not result_with([0, 1]).lag_has_grown


def test_requests_carry_the_time_and_are_valid():
    batch = pool(random.Random(1))[0]
    request = StampedRequest(ProduceFrames("t", batch), batch, 3)
    for now_ms in (1_700_000_000_000, 1_800_000_000_000):
        frame = request.at(now_ms)
        start = frame.index(batch[:8] + batch[8:16])
        ((_, header),) = batches(frame[start : start + len(batch)])
        assert (header.base_timestamp, header.max_timestamp) == (now_ms, now_ms)
        assert header.last_offset_delta == BATCH_RECORDS - 1
        assert crc_is_valid(frame, start, len(batch))


def test_load_keeps_its_pace_and_says_how_far_it_is():
    began_ms = time.time() * 1000
    with Broker() as broker:
        broker.create_topic("loaded", 2)
        load = LoadProcess(broker.bootstrap_servers, "loaded", 2, 5_000)
        load.start()
        wait_until(lambda: min(load.ends) > 0, "the first records", WAIT_SECONDS)
        load.finish()
        found = list(read_whole(broker.bootstrap_servers, "loaded", 2))
    assert load.failures == []
    assert load.missed == 0
    assert load.acknowledged <= len(found)
    assert {len(message.value()) for message in found} == {100}
    assert all(began_ms - 1 <= message.timestamp()[1] <= time.time() * 1000 for message in found)


def test_a_load_that_cannot_go_on_is_noticed(capfd):
    with Broker() as broker:
        load = LoadProcess(broker.bootstrap_servers, "nobody-made-it", 1, 1_000)
        load.start()
        load.join(WAIT_SECONDS)
        load.finish()
    assert "ended by itself" in load.failures[0]
    assert "refused with error 3" in capfd.readouterr().err
