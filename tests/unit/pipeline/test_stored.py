"""Ranges read from files that the storage layer has written, and goes on changing."""

from __future__ import annotations

import logging
import struct
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline import stored
from headrace.pipeline.batch_runs import FIRST_WINDOW_BYTES
from headrace.pipeline.errors import DataLoss, StorageUnreachable
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.read_settings import ReadSettings
from headrace.pipeline.storage_location import ObjectLocation
from headrace.records.compression import Compression
from headrace.records.decode import decode_records
from headrace.records.header import LENGTH_POSITION
from headrace.storage.log_trimming import remove_first_segments
from tests.unit.pipeline.log_directory import (
    TOPIC,
    LogDirectory,
    offsets_of,
    table_of,
    values_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.records.columns import Columns

LOCATIONS = ["", "obstore+file://"]
SMALL = {"internal_segment_bytes": 400, "index_interval_bytes": 100}


@pytest.fixture(params=LOCATIONS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}{tmp_path}"


def reading(directory: LogDirectory, url: str, **settings: object) -> Iterator[Columns]:
    """The whole log, in pieces of one row."""
    wanted = OffsetRange(TOPIC, 0, 0, directory.log.high_watermark)
    chosen = ReadSettings({}, batch_rows_max=1, **settings)  # type: ignore[arg-type]
    return directory.columns(wanted, chosen, url)


def test_all_ranges_of_a_log_with_many_segments(tmp_path: Path, url: str):
    directory = LogDirectory(tmp_path, **SMALL)
    directory.fill(12)
    for start in range(0, 36, 5):
        for end in range(start + 1, 37, 7):
            columns = directory.read(start, end, url=url)
            assert offsets_of(columns) == list(range(start, end))
            assert values_of(columns) == [b"value-%d" % each for each in range(start, end)]
            assert columns[-1].next_offset == end


@pytest.mark.parametrize("compression", list(Compression))
def test_every_codec(tmp_path: Path, url: str, compression: Compression):
    directory = LogDirectory(tmp_path)
    for _ in range(20):
        directory.append(*(b"v" * 300 for _ in range(10)), compression=compression)
    columns = directory.read(3, 197, url=url)
    assert offsets_of(columns) == list(range(3, 197))
    assert set(values_of(columns)) == {b"v" * 300}


def test_pieces_are_as_small_as_asked_for(tmp_path: Path):
    directory = LogDirectory(tmp_path)
    directory.fill(20, 10)
    columns = directory.read(0, batch_rows_max=7)
    assert max(each.batch.num_rows for each in columns) == 7
    assert offsets_of(columns) == list(range(200))
    ends = [each.next_offset for each in columns]
    assert ends == sorted(ends)
    assert ends[-1] == 200


def test_only_wanted_columns_come(tmp_path: Path):
    directory = LogDirectory(tmp_path)
    directory.fill(3)
    table = table_of(directory.read(0, columns=("value", "timestamp")))
    assert table.schema.names == ["value", "timestamp"]
    assert table.num_rows == 9


def test_committed_readers_do_not_see_aborted_records(tmp_path: Path, url: str):
    directory = LogDirectory(tmp_path, **SMALL)
    directory.fill(2)
    directory.in_transaction(1, b"aborted-1", b"aborted-2")
    directory.in_transaction(2, b"committed")
    directory.fill(4)
    directory.in_transaction(1, b"aborted-3")
    directory.end_transaction(2, is_commit=True)
    directory.end_transaction(1, is_commit=False)
    directory.in_transaction(1, b"committed-2")
    directory.end_transaction(1, is_commit=True)
    directory.in_transaction(3, b"open")
    assert len(directory.bases) > 2

    committed = values_of(directory.read(0, url=url, is_committed=True))
    everything = values_of(directory.read(0, url=url))
    special = [value for value in everything if not (value or b"").startswith(b"value")]
    assert special == [
        *(b"aborted-1", b"aborted-2", b"committed", b"aborted-3", b"committed-2", b"open")
    ]
    hidden = (b"aborted-1", b"aborted-2", b"aborted-3", b"open")
    assert committed == [value for value in everything if value not in hidden]


def test_range_may_begin_and_end_inside_an_aborted_transaction(tmp_path: Path):
    directory = LogDirectory(tmp_path, **SMALL)
    for number in range(10):
        directory.in_transaction(1, b"x%d" % number, b"y" * 40)
        directory.fill(1)
    directory.end_transaction(1, is_commit=False)
    end = directory.log.log_end_offset
    for start in range(0, end, 3):
        values = values_of(directory.read(start, min(start + 9, end), is_committed=True))
        assert all((value or b"").startswith(b"value") for value in values)


def test_compacted_log_gives_what_is_left(tmp_path: Path, url: str):
    directory = LogDirectory(
        tmp_path, cleanup_policy="compact", min_cleanable_dirty_ratio=0, **SMALL
    )
    for number in range(60):
        if number in (40, 50):
            directory.compact()
        directory.append(b"value-%d" % number, key=b"key-%d" % (number % 4))
        directory.clock.advance_ms(1000)
    assert len(directory.bases) < 60 // 5, "segments were joined"
    expected = list(zip(*_left(directory), strict=True))
    columns = directory.read(0, 60, url=url)
    assert list(zip(offsets_of(columns), values_of(columns), strict=True)) == expected
    assert len(expected) < 60
    for start in range(60):
        assert offsets_of(directory.read(start, 60, url=url)) == [
            offset for offset, _ in expected if offset >= start
        ]


def _left(directory: LogDirectory) -> tuple[list[int], list[bytes | None]]:
    """Offsets and values of what the log holds, control records aside."""
    records = [r for batch in directory.log.records_from() for r in decode_records(batch)]
    return [record.offset for record in records], [record.value for record in records]


def test_compaction_while_it_is_read(tmp_path: Path, url: str):
    directory = LogDirectory(
        tmp_path, cleanup_policy="compact", min_cleanable_dirty_ratio=0, **SMALL
    )
    for number in range(40):
        directory.append(b"value-%d" % number, key=b"key-%d" % (number % 4))
        directory.clock.advance_ms(1000)
    columns = reading(directory, url)
    seen = [next(columns)]
    directory.compact()
    directory.background.advance(100)  # The old files are removed for good.
    seen += columns
    offsets = offsets_of(seen)
    left, _ = _left(directory)
    assert offsets == sorted(set(offsets))
    assert set(left) <= set(offsets)


@pytest.mark.parametrize("pieces", [1, 5, 9, 14])
def test_compaction_within_a_segment_while_it_is_read(
    tmp_path: Path, url: str, pieces: int, monkeypatch: pytest.MonkeyPatch
):
    for limit in ("OUTPUT_BYTES", "RUN_BYTES_MIN"):
        monkeypatch.setattr(stored, limit, 150)
    directory = LogDirectory(
        tmp_path, cleanup_policy="compact", min_cleanable_dirty_ratio=0, internal_segment_bytes=4000
    )
    for number in range(120):
        directory.append(b"value-%d" % number, key=b"key-%d" % (number % 7))
        directory.clock.advance_ms(1000)
    columns = reading(directory, url)
    seen = [next(columns) for _ in range(pieces)]
    directory.compact()
    directory.background.advance(100)
    seen += columns
    offsets = offsets_of(seen)
    assert offsets == sorted(set(offsets))
    assert set(_left(directory)[0]) <= set(offsets)
    assert values_of(seen) == [b"value-%d" % offset for offset in offsets]
    assert [each.bad for each in seen if each.bad] == []


def test_retention_while_it_is_read_is_a_loss(tmp_path: Path, url: str):
    directory = LogDirectory(tmp_path, **SMALL)
    directory.fill(20)
    columns = reading(directory, url)
    seen = offsets_of([next(columns)])
    remove_first_segments(directory.log, 3)
    directory.background.advance(100)
    with pytest.raises(DataLoss) as loss:
        seen.extend(offset for each in columns for offset in offsets_of([each]))
    assert seen == list(range(loss.value.first_offset))
    assert loss.value.next_offset == directory.bases[0]


def test_retention_while_it_is_read_may_be_passed_over(
    tmp_path: Path, url: str, caplog: pytest.LogCaptureFixture
):
    directory = LogDirectory(tmp_path, **SMALL)
    directory.fill(20)
    columns = reading(directory, url, fail_on_data_loss=False)
    seen = [next(columns)]
    remove_first_segments(directory.log, 3)
    directory.background.advance(100)
    with caplog.at_level(logging.WARNING):
        seen += columns
    offsets = offsets_of(seen)
    assert offsets[-1] == 59
    assert offsets[offsets.index(directory.bases[0]) :] == list(range(directory.bases[0], 60))
    assert "are passed over" in caplog.text


def test_open_segment_is_read_to_its_end_after_retention(tmp_path: Path):
    directory = LogDirectory(tmp_path, **SMALL)
    directory.fill(4)
    first_end = directory.bases[1]
    columns = directory.columns(
        OffsetRange(TOPIC, 0, 0, first_end), ReadSettings({}, batch_rows_max=1)
    )
    seen = [next(columns)]
    remove_first_segments(directory.log, 1)
    directory.background.advance(100)
    seen += columns
    assert offsets_of(seen) == list(range(first_end))


def test_files_behind_the_broker_are_not_the_end(tmp_path: Path, url: str):
    directory = LogDirectory(tmp_path)
    directory.fill(3)
    columns = []
    with pytest.raises(StorageUnreachable, match="ends at offset 9"):
        columns += directory.read(0, 12, url=url)


def test_batch_with_a_wrong_checksum_is_handed_on(tmp_path: Path, url: str):
    directory = LogDirectory(tmp_path)
    directory.fill(5)
    path = directory.partition / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[data.index(b"value-7")] ^= 1
    path.write_bytes(data)
    columns = directory.read(0, url=url)
    (bad,) = [bad for each in columns for bad in each.bad]
    assert (bad.base_offset, bad.last_offset) == (6, 8)
    assert offsets_of(columns) == [*range(6), *range(9, 15)]


@pytest.mark.parametrize("run_bytes", [150, 300, 10_000])
@pytest.mark.parametrize("claimed", [0, 25, 10**9])
@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_wrong_base_offset_is_told_wherever_a_run_ends(
    tmp_path: Path, number: int, claimed: int, run_bytes: int, monkeypatch: pytest.MonkeyPatch
):
    """It has no checksum, and must neither hide the batches behind it nor move its records."""
    for limit in ("OUTPUT_BYTES", "RUN_BYTES_MIN"):
        monkeypatch.setattr(stored, limit, run_bytes)
    directory = LogDirectory(tmp_path)
    directory.fill(10)
    path = directory.partition / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    size_bytes = 0
    for _ in range(number):
        size_bytes += struct.unpack_from(">i", data, size_bytes + LENGTH_POSITION)[0] + 12
    struct.pack_into(">q", data, size_bytes, claimed)
    path.write_bytes(data)
    columns = directory.read(0)
    lost = range(3 * number, 3 * number + 3)
    assert [(bad.base_offset, bad.last_offset) for each in columns for bad in each.bad] == [
        (lost[0], lost[-1])
    ]
    offsets = offsets_of(columns)
    assert offsets == [offset for offset in range(30) if offset not in lost]
    assert values_of(columns) == [b"value-%d" % offset for offset in offsets]


def test_log_that_grows_in_an_object_store_is_read(tmp_path: Path):
    directory = LogDirectory(tmp_path)
    directory.fill(5)
    columns = reading(directory, f"obstore+file://{tmp_path}")
    seen = [next(columns)]
    directory.fill(5)
    seen += columns
    assert offsets_of(seen) == list(range(15))


def test_files_that_begin_later_than_the_log_are_not_a_loss(tmp_path: Path, url: str):
    directory = LogDirectory(tmp_path, **SMALL)
    directory.fill(20)
    for file in directory.partition.glob("00000000000000000000.*"):
        file.unlink()
    with pytest.raises(StorageUnreachable, match="the broker's log at 0"):
        directory.read(0, url=url, fail_on_data_loss=False)


def test_small_range_asks_an_object_store_for_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    directory = LogDirectory(tmp_path)
    for _ in range(300):
        directory.append(*(b"v" * 1000 for _ in range(20)))
    directory.write_indexes()
    asked: list[tuple[int, int]] = []
    real_get = ObjectLocation.get

    def get(self: ObjectLocation, path: str, start: int, end: int) -> object:
        asked.append((start, end))
        return real_get(self, path, start, end)

    monkeypatch.setattr(ObjectLocation, "get", get)
    columns = directory.read(3000, 3100, url=f"obstore+file://{tmp_path}")
    assert offsets_of(columns) == list(range(3000, 3100))
    assert len(asked) == 1
    assert asked[0][1] - asked[0][0] <= FIRST_WINDOW_BYTES


def test_large_range_is_read_ahead_and_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stored, "OUTPUT_BYTES", 200_000)
    directory = LogDirectory(tmp_path)
    for _ in range(100):
        directory.append(*(b"v" * 1000 for _ in range(20)))
    directory.write_indexes()
    asked: list[int] = []
    real_get = ObjectLocation.get

    def get(self: ObjectLocation, path: str, start: int, end: int) -> object:
        asked.append(end - start)
        return real_get(self, path, start, end)

    monkeypatch.setattr(ObjectLocation, "get", get)
    columns = directory.read(0, url=f"obstore+file://{tmp_path}")
    assert offsets_of(columns) == list(range(2000))
    assert sum(asked) < 1.3 * directory.log.size_bytes
    assert max(asked) <= 2 * 200_000
