"""The storage layer under a crash at every single operation of a workload."""

from __future__ import annotations

import pytest

from headrace.records.build import build_batch
from headrace.storage.log_port import Origin
from headrace.testing.faulty_disk import FaultyDisk, crash_everywhere
from headrace.testing.log_bench import LogBench, read_records, read_values

SEGMENT_BYTES = "400"
STEPS = 12


class Workload:
    """Appends step by step and remembers what was acknowledged, across the crash."""

    def __init__(self, disk: FaultyDisk, durability: str) -> None:
        self.disk = disk
        self.durability = durability
        self.acknowledged: dict[tuple[str, int], list[bytes]] = {}
        self.sent: dict[tuple[str, int], list[bytes]] = {}
        self.specs: dict = {}
        self.bench: LogBench | None = None

    def run(self) -> None:
        self.bench = bench = LogBench(self.disk)
        self.specs = bench.specs
        logs = [
            bench.create(
                "t",
                number,
                durability=self.durability,
                internal_segment_bytes=SEGMENT_BYTES,
                index_interval_bytes="100",
            )
            for number in range(2)
        ]
        for step in range(STEPS):
            value = b"%04d" % step + b"v" * 60
            if step % 3 == 2:
                self._append_to_all(logs, value)
            else:
                self._append_to_one(logs[step % 2], value)
            if step % 4 == 3:
                bench.write_checkpoints()
        bench.stop()

    def _append_to_one(self, log, value: bytes) -> None:
        key = (log.partition.topic, log.partition.partition)
        self.sent.setdefault(key, []).append(value)
        appended = self.bench.append(
            log, [value], producer_id=9, producer_epoch=0, base_sequence=len(self.sent[key]) - 1
        )
        self._await([(key, value)], appended.commit_number)

    def _append_to_all(self, logs, value: bytes) -> None:
        now_ms = self.bench.clock.now_ms()
        pairs = []
        entries = []
        for log in logs:
            key = (log.partition.topic, log.partition.partition)
            self.sent.setdefault(key, []).append(value)
            sequence = len(self.sent[key]) - 1
            batch = build_batch(
                [(None, value)],
                timestamp_ms=now_ms,
                producer_id=9,
                producer_epoch=0,
                base_sequence=sequence,
            )
            entries.append((log, batch))
            pairs.append((key, value))
        appended = self.bench.manager.append(entries, origin=Origin.CLIENT)
        self.bench.background.run_all()
        self._await(pairs, appended[0].commit_number)

    def _await(self, pairs, commit_number: int) -> None:
        outcome = []
        self.bench.manager.when_durable(commit_number, outcome.append)
        assert outcome == [None]
        for key, value in pairs:
            self.acknowledged.setdefault(key, []).append(value)


def check(workload: Workload, *, acknowledged_is_kept: bool) -> None:
    bench = LogBench(workload.disk, specs=workload.specs)
    found_in_all: list[set[bytes]] = []
    for spec in workload.specs.values():
        key = (spec.partition.topic, spec.partition.partition)
        log = bench.log(*key)
        found = read_values(log)
        sent = workload.sent.get(key, [])
        assert found == sent[: len(found)], "records are lost in the middle, or wrong"
        if acknowledged_is_kept:
            assert len(found) >= len(workload.acknowledged.get(key, []))
        assert log.log_end_offset == log.high_watermark == len(found)
        found_in_all.append(set(found))
        check_producer_goes_on(bench, log, len(found))
    if len(found_in_all) == 2:
        assert shared(found_in_all[0]) == shared(found_in_all[1]), "an append was torn apart"
    check_next_life(bench)


def shared(values: set[bytes]) -> set[bytes]:
    """Those that were sent to both logs in one append."""
    return {value for value in values if int(value[:4]) % 3 == 2}


def check_producer_goes_on(bench: LogBench, log, count: int) -> None:
    appended = bench.append(log, [b"9997"], producer_id=9, producer_epoch=0, base_sequence=count)
    assert (appended.base_offset, appended.is_duplicate) == (count, False)


def check_next_life(bench: LogBench) -> None:
    """After a clean stop the same is there, and nothing needed mending."""
    before = {partition: read_records(bench.log(*partition)) for partition in bench.specs}
    report = bench.restart()
    assert report.is_clean
    assert before == {p: read_records(bench.log(*p)) for p in bench.specs}


def crash_at_each_operation(durability: str, *, power_loss: bool) -> int:
    workloads: dict[int, Workload] = {}

    def work(disk: FaultyDisk) -> None:
        workload = workloads[id(disk)] = Workload(disk, durability)
        workload.run()

    def verify(disk: FaultyDisk) -> None:
        check(workloads.pop(id(disk)), acknowledged_is_kept=durability == "fsync" or not power_loss)

    return crash_everywhere(work, verify, power_loss=power_loss)


def test_kill_loses_nothing_acknowledged_with_page_cache():
    assert crash_at_each_operation("page-cache", power_loss=False) > 80


@pytest.mark.slow
def test_kill_loses_nothing_acknowledged_with_fsync():
    assert crash_at_each_operation("fsync", power_loss=False) > 100


def test_power_loss_loses_nothing_acknowledged_with_fsync():
    assert crash_at_each_operation("fsync", power_loss=True) > 100
