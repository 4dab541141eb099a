"""The jobs that run in a thread: they stop between slices and leave complete files."""

from __future__ import annotations

import pytest

from headrace.records.build import build_batch
from headrace.storage import compaction_files
from headrace.storage.compaction_files import CleanedSegment, Source, clean_group, fill_key_map
from headrace.storage.compaction_filter import BatchFilter, KeyMap, TransactionTracker
from headrace.storage.transaction_index import AbortedTransaction
from headrace.testing.faulty_disk import FaultyDisk

BASE = "/d/00000000000000000000"


@pytest.fixture
def disk() -> FaultyDisk:
    disk = FaultyDisk()
    disk.make_directory("/d")
    return disk


def source(disk: FaultyDisk, *keys: bytes, base_offset: int = 0) -> Source:
    data = b"".join(
        build_batch([(key, b"v")], base_offset=base_offset + index, timestamp_ms=1000 + index)
        for index, key in enumerate(keys)
    )
    path = f"/d/{base_offset:020d}.log"
    disk.replace_file(path, data)
    return Source(base_offset, path, len(data))


def rules_of(keys: KeyMap) -> BatchFilter:
    return BatchFilter(
        keys,
        TransactionTracker(()),
        {},
        now_ms=0,
        delete_retention_ms=0,
        decompressed_bytes_max=1000,
    )


def filled(disk: FaultyDisk, sources: list[Source], start: int, end: int, keys: KeyMap) -> int:
    """How often the job paused."""
    job = fill_key_map(disk, sources, start, end, keys, TransactionTracker(()), 1000)
    return sum(1 for _ in job)


def test_the_map_has_the_latest_offsets_of_the_dirty_part(disk: FaultyDisk) -> None:
    keys = KeyMap()
    filled(disk, [source(disk, b"a", b"b", b"a", b"c", b"b")], 1, 4, keys)
    assert keys.latest_offset == 3
    assert len(keys) == 3
    assert not keys.is_latest(b"a", 0)
    assert keys.is_latest(b"b", 1)


def test_a_full_map_ends_the_job_at_a_batch(disk: FaultyDisk) -> None:
    keys = KeyMap(keys_max=2)
    filled(disk, [source(disk, b"a", b"b", b"c", b"d")], 0, 4, keys)
    assert (len(keys), keys.latest_offset) == (2, 1)


def test_jobs_pause_after_each_slice(disk: FaultyDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction_files, "SLICE_BYTES", 130)
    first, second = source(disk, b"a", b"b"), source(disk, b"c", b"d", base_offset=2)
    keys = KeyMap()
    assert filled(disk, [first, second], 0, 4, keys) == 2
    cleaned = CleanedSegment(disk, "/d", 0, 4096)
    assert sum(1 for _ in clean_group(disk, [first, second], rules_of(keys), cleaned)) == 2


def test_a_group_becomes_one_segment_with_indexes(disk: FaultyDisk) -> None:
    first = source(disk, b"a", b"b", b"c")
    second = source(disk, b"a", b"d", b"e", base_offset=3)
    keys = KeyMap()
    filled(disk, [first, second], 0, 6, keys)
    cleaned = CleanedSegment(disk, "/d", 0, index_interval_bytes=100)
    list(clean_group(disk, [first, second], rules_of(keys), cleaned))
    assert cleaned.is_changed
    data = disk.read_file(BASE + ".log.cleaned")
    size = first.size_bytes // 3
    assert data == disk.read_file(first.path)[size:] + disk.read_file(second.path)
    assert cleaned.size_bytes == len(data)
    offsets = compaction_files.OFFSET_ENTRY.iter_unpack(disk.read_file(BASE + ".index.cleaned"))
    assert list(offsets) == [(3, 2 * size), (5, 4 * size)]
    times = compaction_files.TIME_ENTRY.iter_unpack(disk.read_file(BASE + ".timeindex.cleaned"))
    assert list(times) == [(1002, 2)]


def test_cleaned_files_are_on_the_medium_when_the_job_ends(disk: FaultyDisk) -> None:
    only = source(disk, b"a", b"b")
    disk.sync_directory("/")
    cleaned = CleanedSegment(disk, "/d", 0, 4096)
    list(clean_group(disk, [only], rules_of(KeyMap()), cleaned))
    disk.sync_directory("/d")
    expected = disk.read_file(BASE + ".log.cleaned")
    disk.crash()
    assert disk.read_file(BASE + ".log.cleaned") == expected
    assert not cleaned.is_changed


def test_an_old_cleaned_file_is_written_over(disk: FaultyDisk) -> None:
    disk.replace_file(BASE + ".log.cleaned", b"x" * 10_000)
    disk.replace_file(BASE + ".index.cleaned", b"x" * 10_000)
    cleaned = CleanedSegment(disk, "/d", 0, 4096)
    list(clean_group(disk, [source(disk, b"a")], rules_of(KeyMap()), cleaned))
    assert disk.size(BASE + ".log.cleaned") == cleaned.size_bytes < 100
    assert disk.size(BASE + ".index.cleaned") == 0


def test_aborted_transactions_go_into_their_index(disk: FaultyDisk) -> None:
    cleaned = CleanedSegment(disk, "/d", 0, 4096)
    cleaned.open()
    cleaned.finish([AbortedTransaction(1, 2, 3, 4)])
    cleaned.close()
    data = disk.read_file(BASE + ".txnindex.cleaned")
    assert list(compaction_files.TRANSACTION_ENTRY.iter_unpack(data)) == [(0, 1, 2, 3, 4)]
