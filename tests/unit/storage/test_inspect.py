"""Files become plain values, damaged ones as far as they make sense."""

from __future__ import annotations

import struct

import pytest

from headrace.model.errors import InvalidRequest
from headrace.records.build import build_batch
from headrace.records.record import Record
from headrace.storage import inspect
from headrace.storage.inspect import (
    BatchValue,
    EpochValue,
    FileKind,
    NamedValue,
    OffsetValue,
    PartitionOffsetValue,
    ProducerValue,
    StableOffsetValue,
    TimeValue,
    Unreadable,
    dump,
    kind_of,
)
from headrace.storage.transaction_index import AbortedTransaction
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.storage_bench import DATA, StorageBench

SEGMENT = "/d/00000000000000000100"


def dumped(path: str, data: bytes, **options: bool) -> list[object]:
    disk = FaultyDisk()
    disk.make_directory("/d")
    disk.replace_file(path, data)
    return list(dump(disk, path, **options))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/x/00000000000000000000.log", FileKind.LOG),
        ("00000000000000000000.log.swap", FileKind.LOG),
        ("00000000000000000007.timeindex", FileKind.TIME_INDEX),
        ("00000000000000000007.snapshot.deleted", FileKind.SNAPSHOT),
        ("cleaner-offset-checkpoint", FileKind.OFFSETS),
        ("/x/meta.properties", FileKind.PROPERTIES),
        ("notes.txt", None),
        ("7.log", None),
    ],
)
def test_names_tell_the_kind(name: str, kind: FileKind | None) -> None:
    assert kind_of(name) is kind


def test_a_log_is_dumped_batch_by_batch() -> None:
    first = build_batch([(b"a", b"1")], base_offset=100, timestamp_ms=5)
    second = build_batch([(b"b", None)], base_offset=101, timestamp_ms=6)
    values = dumped(SEGMENT + ".log", bytes(first + second), with_records=True)
    assert [value.position for value in values] == [0, len(first)]  # type: ignore[attr-defined]
    assert values[1].records == (Record(101, 6, b"b", None),)  # type: ignore[attr-defined]
    (value, _) = dumped(SEGMENT + ".log", bytes(first + second))
    assert isinstance(value, BatchValue)
    assert (value.crc_is_valid, value.records, value.problem) == (True, (), None)


def test_damage_in_a_log_is_told_and_the_rest_goes_on() -> None:
    first, second = build_batch([(b"a", b"1")]), build_batch([(b"b", b"2")], base_offset=1)
    first[-1] ^= 1
    values = dumped(SEGMENT + ".log", bytes(first + second + b"tail"), with_records=True)
    assert [type(value) for value in values] == [BatchValue, BatchValue, Unreadable]
    assert values[0].problem == "the checksum is wrong"  # type: ignore[attr-defined]
    assert values[1].problem is None  # type: ignore[attr-defined]
    assert values[2].is_tail  # type: ignore[attr-defined]


def test_nonsense_ends_the_dump_and_zeros_are_only_a_tail() -> None:
    batch = bytes(build_batch([(b"a", b"1")]))
    nonsense = dumped(SEGMENT + ".log", batch + b"\xff" * 100)[-1]
    zeros = dumped(SEGMENT + ".log", batch + bytes(100))[-1]
    assert isinstance(nonsense, Unreadable)
    assert isinstance(zeros, Unreadable)
    assert (nonsense.position, nonsense.is_tail) == (len(batch), False)
    assert (zeros.position, zeros.is_tail) == (len(batch), True)


def test_indexes_are_dumped_with_absolute_offsets_and_without_preallocated_zeros() -> None:
    offsets = struct.pack(">iiii", 5, 4096, 256, 8192)
    times = struct.pack(">qiqi", 1000, 0, 1256, 256)
    assert dumped(SEGMENT + ".index", offsets + bytes(8000)) == [
        OffsetValue(105, 4096),
        OffsetValue(356, 8192),
    ]
    assert dumped(SEGMENT + ".timeindex", times + bytes(1200)) == [
        TimeValue(1000, 100),
        TimeValue(1256, 356),
    ]
    aborted = struct.pack(">hqqqq", 0, 7, 100, 103, 104)
    assert dumped(SEGMENT + ".txnindex", aborted) == [AbortedTransaction(7, 100, 103, 104)]


def test_an_index_of_an_odd_size_is_dumped_and_then_unreadable() -> None:
    values = dumped(SEGMENT + ".index", struct.pack(">ii", 5, 4096) + b"\x01")
    assert values[0] == OffsetValue(105, 4096)
    assert isinstance(values[1], Unreadable)


def test_small_files_are_dumped() -> None:
    assert dumped("/d/log-start-offset-checkpoint", b"0\n1\nmy-topic 3 42\n") == [
        PartitionOffsetValue("my-topic", 3, 42)
    ]
    assert dumped("/d/headrace-stable-offset-checkpoint", b"0\n1\nt 0 9 7\n") == [
        StableOffsetValue("t", 0, 9, 7)
    ]
    assert dumped("/d/headrace-fsync-checkpoint", b"0\n1\n5\n") == [NamedValue("offset", "5")]
    assert dumped("/d/leader-epoch-checkpoint", b"0\n1\n2 77\n") == [EpochValue(2, 77)]
    metadata = b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    assert dumped("/d/partition.metadata", metadata) == [
        NamedValue("topic_id", bytes(range(16)).hex())
    ]
    assert dumped("/d/meta.properties", b"# x\nnode.id=1\n") == [NamedValue("node.id", "1")]


@pytest.mark.parametrize(
    "name",
    ["leader-epoch-checkpoint", "partition.metadata", "00000000000000000000.snapshot"],
)
def test_small_files_that_make_no_sense_are_unreadable(name: str) -> None:
    (value,) = dumped(f"/d/{name}", b"nonsense")
    assert isinstance(value, Unreadable)


def test_a_huge_small_file_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect, "SMALL_FILE_BYTES_MAX", 10)
    (value,) = dumped(SEGMENT + ".index", bytes(16))
    assert isinstance(value, Unreadable)
    assert "too many" in value.problem


def test_unknown_files_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="not a file of a log"):
        dumped("/d/notes.txt", b"")


def test_snapshots_written_by_a_log_are_dumped() -> None:
    bench = StorageBench()
    log = bench.log(internal_segment_bytes=100)
    for sequence in range(2):
        bench.append(log, (b"k", b"v"), producer_id=9, producer_epoch=1, base_sequence=sequence)
    path = f"{DATA}/topic-0/00000000000000000001.snapshot"
    (value,) = dump(bench.disk, path)
    assert isinstance(value, ProducerValue)
    assert (value.producer_id, value.epoch, value.last_sequence, value.last_offset) == (9, 1, 0, 0)
