from __future__ import annotations

import errno
import os
import uuid
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headrace.pipeline.errors import TargetFull, TargetNotWritable
from headrace.pipeline.sink import staging
from headrace.pipeline.sink.errors import InvalidSinkRow, StagedRowsMissing
from headrace.pipeline.sink.staging import (
    ORPHAN_AGE_SECONDS,
    StagedPiece,
    file_system,
    read_piece,
    remove_batches,
    remove_directory,
    remove_orphans,
    remove_pieces,
    stage,
)

if TYPE_CHECKING:
    from pathlib import Path

MANY = 1_000_000


def rows(*values: bytes | None, topic: str = "t") -> pa.RecordBatch:
    return pa.record_batch(
        {"value": pa.array(values, pa.binary()), "topic": pa.array([topic] * len(values))}
    )


def values_of(piece: StagedPiece) -> list[bytes | None]:
    return [value for batch in read_piece(piece) for value in batch.column("value").to_pylist()]


def test_a_small_piece_travels_in_the_message(tmp_path: Path) -> None:
    piece = stage([rows(b"a", None), rows(b"b")], None, str(tmp_path / "x.arrow"), MANY)
    assert piece.url is None
    assert (piece.rows, piece.topics) == (3, {"t": -1})
    assert values_of(piece) == [b"a", None, b"b"]
    assert list(tmp_path.iterdir()) == []


def test_a_large_piece_is_a_file(tmp_path: Path) -> None:
    url = str(tmp_path / "owner" / "7" / "x.arrow")
    batches = [rows(b"a"), rows(b"b", topic="u"), rows(b"c")]
    piece = stage(batches, None, url, 20)
    assert (piece.url, piece.data, piece.rows) == (url, None, 3)
    assert piece.topics == {"t": -1, "u": -1}
    assert values_of(piece) == [b"a", b"b", b"c"]
    topics = [t for batch in read_piece(piece) for t in batch.column("topic").to_pylist()]
    assert topics == ["t", "u", "t"]


def test_no_rows(tmp_path: Path) -> None:
    piece = stage([], None, str(tmp_path / "x"), 0)
    assert piece == StagedPiece(0, {}, b"", None)
    assert values_of(piece) == []


def test_a_bad_row_is_refused_while_staging(tmp_path: Path) -> None:
    bad = pa.record_batch({"value": pa.array([b"x"]), "topic": pa.array([None], pa.string())})
    with pytest.raises(InvalidSinkRow):
        stage([rows(b"a"), bad], None, str(tmp_path / "x"), 0)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    piece = stage([rows(b"a")], None, str(tmp_path / "x"), 0)
    os.remove(tmp_path / "x")
    with pytest.raises(StagedRowsMissing, match=r"headrace\.staging\.location"):
        values_of(piece)


def test_a_file_that_is_cut_off_is_noticed(tmp_path: Path) -> None:
    piece = stage([rows(b"a"), rows(b"b")], None, str(tmp_path / "x"), 0)
    whole = (tmp_path / "x").read_bytes()
    for length in range(0, len(whole) - 9, 7):
        (tmp_path / "x").write_bytes(whole[:length])
        with pytest.raises(StagedRowsMissing):
            values_of(piece)


def test_too_few_rows_are_noticed(tmp_path: Path) -> None:
    piece = stage([rows(b"a")], None, str(tmp_path / "x"), 0)
    with pytest.raises(StagedRowsMissing, match="holds 1 rows instead of 2"):
        values_of(piece._replace(rows=2))


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetNotWritable, match="rows cannot be put aside"):
        stage([rows(b"a")], None, str(tmp_path / "file" / "x"), 0)


def test_a_full_disk_has_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(sink: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(staging, "_stream", full)
    with pytest.raises(TargetFull):
        stage([rows(b"a")], None, str(tmp_path / "x"), 0)


def test_an_error_of_the_rows_themselves_keeps_its_name(tmp_path: Path) -> None:
    def broken() -> object:
        yield rows(b"a")
        raise OSError("the socket to Spark is gone")

    with pytest.raises(OSError, match="the socket to Spark"):
        stage(broken(), None, str(tmp_path / "x"), 0)  # type: ignore[arg-type]


def test_pieces_are_removed(tmp_path: Path) -> None:
    piece = stage([rows(b"a")], None, str(tmp_path / "x"), 0)
    inline = stage([rows(b"a")], None, "", MANY)
    remove_pieces([piece, inline])
    remove_pieces([piece])
    assert list(tmp_path.iterdir()) == []


def test_batches_up_to_one_are_removed_with_what_failed_attempts_left(tmp_path: Path) -> None:
    for batch_id in ("3", "4", "5"):
        stage([rows(b"a")], None, str(tmp_path / batch_id / "x"), 0)
    (tmp_path / "notes").mkdir()
    remove_batches(str(tmp_path), 4)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["5", "notes"]
    remove_batches(str(tmp_path / "nowhere"), 4)


def test_only_what_is_old_and_ours_is_an_orphan(tmp_path: Path) -> None:
    old, new = str(uuid.uuid4()), str(uuid.uuid4())
    for name in (old, new, "somebodys"):
        (tmp_path / name).mkdir()
    now_s = (tmp_path / new).stat().st_mtime
    for name in (old, "somebodys"):
        os.utime(tmp_path / name, (0, now_s - ORPHAN_AGE_SECONDS - 10))
    remove_orphans(str(tmp_path), now_s)
    assert {entry.name for entry in tmp_path.iterdir()} == {new, "somebodys"}


def test_a_place_that_cannot_be_tidied_does_not_fail_the_batch(tmp_path: Path) -> None:
    gone = stage([rows(b"a")], None, str(tmp_path / "x"), 0)
    os.remove(tmp_path / "x")
    remove_pieces([gone])
    remove_batches("unheard://of/place", 1)
    remove_directory("unheard://of/place")
    remove_orphans("unheard://of/place")


def test_a_kind_of_place_that_is_not_known_is_named() -> None:
    with pytest.raises(TargetNotWritable, match="unheard"):
        stage([rows(b"a")], None, "unheard://of/place/x.arrow", 0)


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_paths_and_urls_of_files(tmp_path: Path, form: str) -> None:
    assert file_system(form.format(tmp_path))[1] == str(tmp_path)


def test_all_of_an_owner_is_removed(tmp_path: Path) -> None:
    stage([rows(b"a")], None, str(tmp_path / "job" / "0" / "x"), 0)
    remove_directory(str(tmp_path / "job"))
    remove_directory(str(tmp_path / "job"))
    assert list(tmp_path.iterdir()) == []
