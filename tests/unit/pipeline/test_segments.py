"""Finding the files of a range, while they change."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline import segments
from headrace.pipeline.errors import StorageUnreachable
from headrace.pipeline.segments import (
    BelowFirstSegment,
    OffsetEntries,
    StoredPartition,
    starting_place,
)
from headrace.storage.log_trimming import remove_first_segments
from headrace.storage.metadata_files import uuid_text
from headrace.storage.offset_index import ENTRY
from tests.unit.pipeline.log_directory import ADDRESS, TOPIC_ID, LogDirectory

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.pipeline.segments import OpenSegment

NAME = "{:020d}{}"
OTHER_ID = uuid_text(bytes(15) + b"x")


@pytest.fixture
def directory(tmp_path: Path) -> LogDirectory:
    """Five segments, the last of which is written to."""
    directory = LogDirectory(tmp_path, internal_segment_bytes=400, index_interval_bytes=100)
    directory.fill(17)
    directory.write_indexes()
    assert len(directory.bases) >= 5
    return directory


def opened_at(directory: LogDirectory, offset: int) -> OpenSegment:
    opened = directory.stored().open_at(offset, directory.log.high_watermark, is_committed=True)
    opened.file.close()
    return opened


def test_segment_that_holds_an_offset_is_found(directory: LogDirectory):
    bases = directory.bases
    for number, base in enumerate(bases):
        opened = opened_at(directory, base + 1)
        assert opened.base_offset == base
        assert opened.next_base == (bases[number + 1] if base != bases[-1] else None)


def test_offset_before_all_segments_is_told(directory: LogDirectory):
    remove_first_segments(directory.log, 2)
    with pytest.raises(BelowFirstSegment) as gone:
        opened_at(directory, 0)
    assert gone.value.first_offset == directory.bases[0] > 0


def test_files_on_their_way_out_do_not_count(directory: LogDirectory):
    bases = directory.bases
    for name in ("00000000000000000001.log.deleted", "00000000000000000001.log.cleaned"):
        (directory.partition / name).write_bytes(b"not a log")
    (directory.partition / "00000000000000000001.log.cut").write_bytes(b"x")
    (directory.partition / "1.log").write_bytes(b"x")
    view = directory.stored().look()
    assert [segment.base_offset for segment in view.segments] == bases
    assert not view.is_being_replaced


def test_swap_is_waited_for(directory: LogDirectory, monkeypatch: pytest.MonkeyPatch):
    swap = directory.partition / NAME.format(directory.bases[0], ".log.swap")
    swap.write_bytes(b"")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            swap.unlink()

    monkeypatch.setattr(segments.time, "sleep", pause)
    assert opened_at(directory, 0).base_offset == 0
    assert len(pauses) == 3


def test_swap_that_never_ends_makes_storage_unreachable(
    directory: LogDirectory, monkeypatch: pytest.MonkeyPatch
):
    (directory.partition / NAME.format(directory.bases[0], ".log.swap")).write_bytes(b"")
    monkeypatch.setattr(segments.time, "sleep", lambda seconds: None)
    with pytest.raises(StorageUnreachable, match="kept changing"):
        opened_at(directory, 0)


def test_segment_that_goes_between_look_and_opening_is_looked_for_again(
    directory: LogDirectory, monkeypatch: pytest.MonkeyPatch
):
    stored = directory.stored()
    first_look = stored.look()
    remove_first_segments(directory.log, 1)
    looks = [first_look]
    real_look = StoredPartition.look
    monkeypatch.setattr(
        StoredPartition, "look", lambda self: looks.pop() if looks else real_look(self)
    )
    with pytest.raises(BelowFirstSegment):
        stored.open_at(0, 3, is_committed=False)


def test_directory_without_segments_is_unreachable(tmp_path: Path):
    directory = LogDirectory(tmp_path)
    with pytest.raises(StorageUnreachable, match="has no segments"):
        opened_at(directory, 0)


def test_reading_starts_where_the_index_says(directory: LogDirectory):
    for base, end in zip(directory.bases, directory.bases[1:], strict=False):
        for offset in range(base, end):
            opened = directory.stored().open_at(offset, end, is_committed=False)
            position, lowest_offset = starting_place(opened, offset, 1000)
            segment = directory.log.segments[directory.bases.index(base)]
            segment.load()
            place = segment.find(offset)
            assert place is not None
            assert position <= place.position
            assert base <= lowest_offset <= offset
            assert place.position - position <= 400
            opened.file.close()
    assert any(len(opened_at(directory, base).entries) for base in directory.bases)


@pytest.mark.parametrize("entry", [(1, 7), (1, 1_000_000), (-5, 100), (2**31 - 1, 2**31 - 1)])
def test_rotten_index_is_not_believed(directory: LogDirectory, entry: tuple[int, int]):
    base = directory.bases[1]
    (directory.partition / NAME.format(base, ".index")).write_bytes(ENTRY.pack(*entry))
    opened = directory.stored().open_at(base + 2, base + 3, is_committed=False)
    assert starting_place(opened, base + 2, 1000) == (0, base)
    opened.file.close()


def test_missing_index_means_reading_from_the_beginning(directory: LogDirectory):
    base = directory.bases[1]
    (directory.partition / NAME.format(base, ".index")).unlink()
    opened = directory.stored().open_at(base + 2, base + 3, is_committed=False)
    assert starting_place(opened, base + 2, 1000) == (0, base)
    opened.file.close()


def test_zeros_behind_the_entries_do_not_count():
    data = ENTRY.pack(3, 100) + ENTRY.pack(6, 200) + bytes(800) + b"\0"
    entries = OffsetEntries(data, 50)
    assert len(entries) == 2
    assert entries.before(52) is None
    assert entries.before(53) == (50, 53, 100)
    assert entries.before(10**6) == (54, 56, 200)
    assert entries.after_position(100) == [(56, 200)]


def test_directory_of_another_topic_is_not_read(directory: LogDirectory):
    stored = directory.stored()
    stored.raise_if_foreign()
    with pytest.raises(StorageUnreachable, match="another topic of the same name"):
        StoredPartition(stored.location, ADDRESS, bytes(16)).raise_if_foreign()
    (directory.partition / "partition.metadata").write_text("version: 0\n")
    with pytest.raises(StorageUnreachable, match="no topic id"):
        stored.raise_if_foreign()
    (directory.partition / "partition.metadata").unlink()
    with pytest.raises(StorageUnreachable, match=r"has no partition\.metadata"):
        stored.raise_if_foreign()
    assert stored.directory == str(ADDRESS)


def test_topic_that_is_made_anew_between_two_segments_is_noticed(directory: LogDirectory):
    stored = directory.stored()
    stored.open_at(0, 3, is_committed=False).file.close()
    metadata = directory.partition / "partition.metadata"
    metadata.write_text(metadata.read_text().replace(uuid_text(TOPIC_ID), OTHER_ID))
    with pytest.raises(StorageUnreachable, match="another topic of the same name"):
        stored.open_at(directory.bases[1], directory.bases[2], is_committed=False)


def test_first_batch_that_is_not_between_two_entries_is_not_believed(directory: LogDirectory):
    """Its offset has no checksum: begun there, the reader would take it for one of the past."""
    base = directory.bases[1]
    opened = directory.stored().open_at(base + 5, base + 6, is_committed=False)
    place = starting_place(opened, base + 5, 1000)
    opened.file.close()
    assert place.position > 0
    with (directory.partition / NAME.format(base, ".log")).open("r+b") as file:
        file.seek(place.position)
        file.write(struct.pack(">q", place.lowest_offset - 1))
    opened = directory.stored().open_at(base + 5, base + 6, is_committed=False)
    assert starting_place(opened, base + 5, 1000) == (0, base)
    opened.file.close()


def test_aborted_transactions_are_found_in_later_segments(tmp_path: Path):
    directory = LogDirectory(tmp_path, internal_segment_bytes=400)
    directory.in_transaction(1, b"a")
    directory.in_transaction(2, b"b")
    directory.end_transaction(2, is_commit=False)
    directory.fill(6)
    end = directory.log.log_end_offset
    directory.end_transaction(1, is_commit=False)
    directory.in_transaction(3, b"later")
    directory.end_transaction(3, is_commit=False)
    assert len(directory.bases) > 2

    stored = directory.stored()
    opened = stored.open_at(0, 3, is_committed=True)
    opened.file.close()
    assert [(each.producer_id, each.last_offset) for each in opened.aborted] == [(2, 2), (1, end)]
    assert stored.open_at(0, 3, is_committed=False).aborted == ()


def test_no_more_entries_are_read_than_the_range_needs(tmp_path: Path):
    directory = LogDirectory(tmp_path, internal_segment_bytes=400)
    for producer_id in range(10):
        directory.in_transaction(producer_id, b"x" * 50)
        directory.end_transaction(producer_id, is_commit=False)
    assert len(directory.bases) > 2
    opened = directory.stored().open_at(2, 4, is_committed=True)
    opened.file.close()
    assert [each.producer_id for each in opened.aborted] == [1]
