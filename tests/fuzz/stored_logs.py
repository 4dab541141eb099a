"""Targets: the files of logs, damaged while the broker was down.

An input is one byte of choices (which file of its kind, whether the stop was clean, whether
checksums are set right after the damage) and the file's new content. Whatever it is: the node
opens its logs, serves no record that was not written, keeps everything in the log beside it, takes
new records, and comes up again with what it then has.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from headrace.model.errors import DamagedLog, HeadraceError, StorageFailure
from headrace.records.build import build_batch
from headrace.records.decode import decode_records
from headrace.records.header import batches
from headrace.storage.file_names import (
    CLEAN_SHUTDOWN,
    LEADER_EPOCHS,
    LOG_START_OFFSETS,
    PARTITION_METADATA,
    RECOVERY_POINTS,
    STABLE_OFFSETS,
    SYNCED_FROM,
)
from headrace.storage.write_ahead_log import FILE_NAMES
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.log_bench import DIRECTORY, READ_ALL_BYTES, LogBench
from tests.fuzz.restamp import restamp_file, restamp_snapshot, restamp_write_ahead_log
from tests.fuzz.target import expect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.records.record import Record
    from headrace.storage.log_port import Log

CLEAN, RESTAMPED = 0x80, 0x40
NUMBER_MASK = 0x3F
DAMAGED, BESIDE, SYNCED = "damaged", "beside", "synced"
BATCHES = 24
WRITE_AHEAD_LOG_BYTES = 16 * 1024
SEEDS_PER_STOP = 8
SEED_BYTES = 4 * 1024
DISK_GROWTH_BYTES_MAX = 1024 * 1024
CHECKPOINTS = (RECOVERY_POINTS, LOG_START_OFFSETS, STABLE_OFFSETS, CLEAN_SHUTDOWN)
SMALL_FILES = (LEADER_EPOCHS, PARTITION_METADATA, SYNCED_FROM)

Files = dict[str, bytes]


class Image:
    """A data directory as it was left: three logs, one of them under fsync, and what they held."""

    def __init__(self, *, clean: bool) -> None:
        bench = LogBench(write_ahead_log_bytes_max=WRITE_AHEAD_LOG_BYTES)
        small = {"internal_segment_bytes": "1500", "index_interval_bytes": "64"}
        logs = [
            bench.create(DAMAGED, **small),
            bench.create(BESIDE, **small),
            bench.create(SYNCED, durability="fsync"),
        ]
        for number in range(BATCHES):
            bench.clock.advance(1)
            for log in logs:
                bench.append(log, [b"value %d" % number, b"second"])
            sequence = {"producer_id": 7, "producer_epoch": 0, "base_sequence": number}
            bench.append(logs[0], [b"of a producer"], **sequence)
            if number % 8 == 5:
                _abort_a_transaction(bench, logs[0], number)
        bench.write_checkpoints()
        for log in logs:
            bench.append(log, [b"behind the checkpoint"])
        self.specs = bench.specs
        self.records = {log.partition: _readable(log) for log in logs}
        if clean:
            bench.stop()
        self.files = all_files(bench.disk, DIRECTORY)

    def paths(self, kind: str) -> list[str]:
        """Files of a kind: by suffix in the damaged log, else by name."""
        if kind.startswith("."):
            prefix = f"{DIRECTORY}/{DAMAGED}-0/"
            return sorted(p for p in self.files if p.startswith(prefix) and p.endswith(kind))
        return sorted(p for p in self.files if p.rpartition("/")[2] == kind)


def _abort_a_transaction(bench: LogBench, log: Log, number: int) -> None:
    batch = build_batch(
        [(b"k", b"aborted")],
        timestamp_ms=bench.clock.now_ms(),
        producer_id=9,
        producer_epoch=0,
        base_sequence=number // 8,
        transactional=True,
    )
    bench.manager.append([(log, batch)])
    bench.append_marker(log, 9, abort=True)


def all_files(disk: FaultyDisk, directory: str) -> Files:
    files: Files = {}
    for name in disk.list(directory):
        path = f"{directory}/{name}"
        if disk.is_directory(path):
            files |= all_files(disk, path)
        else:
            files[path] = disk.read_file(path)
    return files


@cache
def image(*, clean: bool) -> Image:
    return Image(clean=clean)


def disk_of(files: Files) -> FaultyDisk:
    disk = FaultyDisk()
    for directory in {path.rpartition("/")[0] for path in files}:
        disk.make_directory(directory)
    for path, data in files.items():
        disk.replace_file(path, data, sync=False)
    return disk


class StoredLogTarget:
    """The files of one kind (a suffix, or names), each in turn."""

    def __init__(
        self,
        name: str,
        kinds: tuple[str, ...],
        restamp: Callable[[bytes], bytes] | None = None,
        *,
        keeps_all_after_a_crash: bool = False,
    ) -> None:
        self.name = name
        self._kinds = kinds
        self._restamp = restamp
        self._keeps_all = keeps_all_after_a_crash

    def _paths(self, sound: Image) -> list[str]:
        return [path for kind in self._kinds for path in sound.paths(kind)]

    def seeds(self) -> dict[str, bytes]:
        seeds: dict[str, bytes] = {}
        for clean in (False, True):
            sound = image(clean=clean)
            for number, path in enumerate(self._paths(sound)[:SEEDS_PER_STOP]):
                choice = number | (CLEAN if clean else 0)
                data = sound.files[path][:SEED_BYTES]
                stop = "clean" if clean else "killed"
                seeds[f"{stop}-{number}"] = bytes([choice]) + data
                if self._restamp is not None:
                    seeds[f"{stop}-{number}-restamped"] = bytes([choice | RESTAMPED]) + data
        return seeds

    def run(self, data: bytes) -> None:
        choice, content = (data[0], data[1:]) if data else (0, b"")
        clean = bool(choice & CLEAN)
        sound = image(clean=clean)
        paths = self._paths(sound)
        if not paths:
            return  # a clean stop leaves none of this kind
        path = paths[(choice & NUMBER_MASK) % len(paths)]
        is_restamped = self._restamp is not None and bool(choice & RESTAMPED)
        if self._restamp is not None and is_restamped:
            content = self._restamp(content)
        bench = LogBench(
            disk_of({**sound.files, path: content}),
            specs=sound.specs,
            write_ahead_log_bytes_max=WRITE_AHEAD_LOG_BYTES,
        )
        is_forged = is_restamped or self.name == "checkpoint"
        self._check_logs(bench, sound, clean=clean, is_forged=is_forged)
        # After a clean stop nobody looks at the last segment before somebody appends to it.
        may_refuse = clean and path == max(sound.paths(".log"))
        self._go_on(bench, may_refuse=may_refuse)
        size = sum(map(len, all_files(bench.disk, DIRECTORY).values()))
        before = sum(map(len, sound.files.values())) + 2 * len(content)
        expect(size < before + DISK_GROWTH_BYTES_MAX, f"the files grew from {before} to {size}")

    def _check_logs(self, bench: LogBench, sound: Image, *, clean: bool, is_forged: bool) -> None:
        for partition, records in sound.records.items():
            log = bench.log(partition.topic)
            found = _readable(log)
            if not is_forged:
                written = set(records.values())
                wrong = {offset: value for offset, value in found.items() if value not in written}
                expect(not wrong, f"{partition} serves what was never written: {wrong}")
            if partition.topic == BESIDE and not is_forged:
                expect(found == records, f"{partition} lost {set(records) - set(found)}")
            if self._keeps_all and not clean and not is_forged:
                expect(found == records, f"{partition} lost {set(records) - set(found)}")
            _look_up(bench, log)

    def _go_on(self, bench: LogBench, *, may_refuse: bool) -> None:
        """New records are taken, or refused until the next start, which finds what this one had."""
        before: dict[str, dict[int, bytes | None]] = {}
        for topic in (DAMAGED, BESIDE, SYNCED):
            try:
                before[topic] = _append_and_read(bench, topic)
            except (DamagedLog, StorageFailure):
                expect(may_refuse and topic == DAMAGED, f"{topic}: takes no records")
        try:
            bench.restart()
        except HeadraceError:  # not a clean stop then: the next start looks at everything
            before.pop(DAMAGED, None)
            bench.kill_and_start()
        for topic, records in before.items():
            expect(_readable(bench.log(topic)) == records, f"{topic}: a restart changed it")
        if DAMAGED not in before:
            _append_and_read(bench, DAMAGED)

    def close(self) -> None:
        """Every input has a disk of its own."""


def _append_and_read(bench: LogBench, topic: str) -> dict[int, bytes | None]:
    log = bench.log(topic)
    end_offset = log.log_end_offset
    appended = bench.append(log, [b"afterwards"])
    expect(appended.base_offset == end_offset, f"{topic}: appended at another offset")
    records = _readable(log)
    expect(records.get(end_offset) == b"afterwards", f"{topic}: not readable")
    return records


def _readable(log: Log) -> dict[int, bytes | None]:
    """Offset to value of all that can be read; damage may hide some, but must name itself."""
    found: dict[int, bytes | None] = {}
    offset = log.log_start_offset
    while offset < log.high_watermark:
        end_offset = offset
        for record in _fetch(log, offset):
            found[record.offset] = record.value
            end_offset = record.offset + 1
        offset = max(end_offset, offset + 1)
    return found


def _fetch(log: Log, offset: int) -> Iterator[Record]:
    """What one fetch brings, up to the first batch that a client's own check refuses."""
    try:
        data = log.read(offset, READ_ALL_BYTES, log.high_watermark, at_least_one=True).read()
        for start, header in batches(data):
            for record in decode_records(data[start : start + header.size_bytes]):
                if offset <= record.offset < log.high_watermark:
                    yield record
    except HeadraceError:
        return


def _look_up(bench: LogBench, log: Log) -> None:
    """Every other question a client may ask, answered or refused by a named error."""
    now_ms = bench.clock.now_ms()
    for question in (
        lambda: log.offset_for_timestamp(now_ms - 20_000),
        lambda: log.offset_of_max_timestamp(),
        lambda: log.aborted_transactions(log.log_start_offset, log.high_watermark),
        lambda: bench.manager.run_housekeeping(),
    ):
        try:
            question()
        except HeadraceError:
            continue
    bench.background.run_all()


TARGETS = (
    StoredLogTarget("segment", (".log",), restamp_file),
    StoredLogTarget("index", (".index",), keeps_all_after_a_crash=True),
    StoredLogTarget("timeindex", (".timeindex",), keeps_all_after_a_crash=True),
    StoredLogTarget("txnindex", (".txnindex",), keeps_all_after_a_crash=True),
    StoredLogTarget("producer-snapshot", (".snapshot",), restamp_snapshot),
    StoredLogTarget("checkpoint", (*CHECKPOINTS, *SMALL_FILES)),
    StoredLogTarget("write-ahead-log", FILE_NAMES, restamp_write_ahead_log),
)
