"""Swapping a cleaned segment in: all of it or nothing."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from headrace.model.errors import StorageFailure
from headrace.storage.compaction_swap import remove_cleaned, swap_in
from headrace.testing.storage_bench import DATA, StorageBench, pairs_of

if TYPE_CHECKING:
    from headrace.storage.log import SegmentedLog

DIRECTORY = f"{DATA}/topic-0"
BASE = f"{DIRECTORY}/00000000000000000000"


@pytest.fixture
def bench() -> StorageBench:
    return StorageBench()


def prepared(bench: StorageBench) -> SegmentedLog:
    """Five segments of one record; the third one's content is ready to replace the first three."""
    log = bench.log(cleanup_policy="compact", internal_segment_bytes=80)
    for number in range(5):
        bench.append(log, (b"k", b"%d" % number))
    for suffix, data in (
        (".log", bench.disk.read_file(log.segments[2].path)),
        (".index", b""),
        (".timeindex", b""),
    ):
        with closing(bench.disk.open(f"{BASE}{suffix}.cleaned", create=True)) as file:
            file.write_at(0, data)
            file.sync()
    return log


def temporary_names(bench: StorageBench) -> list[str]:
    return [name for name in bench.disk.list(DIRECTORY) if name.endswith((".cleaned", ".swap"))]


def test_the_old_segments_are_replaced_by_one(bench: StorageBench) -> None:
    log = prepared(bench)
    old = log.segments[:3]
    segment = swap_in(log, old)
    assert [found.base_offset for found in log.segments] == [0, 3, 4]
    assert log.segments[0] is segment
    assert [offset for offset, _, _ in pairs_of(log)] == [2, 3, 4]
    assert temporary_names(bench) == []
    assert all(handle.is_retired for gone in old for handle in gone.handles())
    bench.background.advance(61)
    names = bench.disk.list(DIRECTORY)
    assert [name for name in names if name.endswith(".log")] == [
        f"{base:020d}.log" for base in (0, 3, 4)
    ]
    assert not [name for name in names if name.endswith(".deleted")]


def test_a_refusal_at_any_step_changes_nothing() -> None:
    steps = 0
    for step in range(100):
        bench = StorageBench()
        log = prepared(bench)
        before, names = pairs_of(log), bench.disk.list(DIRECTORY)
        bench.disk.fail_at(step)
        try:
            swap_in(log, log.segments[:3])
        except StorageFailure:
            steps += 1
            assert pairs_of(log) == before
            assert bench.disk.list(DIRECTORY) == names
        else:
            break
    assert steps >= 10


def test_removing_a_cleaned_segment_leaves_the_others(bench: StorageBench) -> None:
    log = prepared(bench)
    before = pairs_of(log)
    remove_cleaned(bench.disk, DIRECTORY, 0)
    remove_cleaned(bench.disk, DIRECTORY, 0)
    assert temporary_names(bench) == []
    assert pairs_of(log) == before
