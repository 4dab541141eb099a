"""``headrace log`` over files that were written here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.cli.main import main
from headrace.records.build import build_batch

if TYPE_CHECKING:
    from pathlib import Path

NAME = "00000000000000000000.log"


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    file = directory / NAME
    first = build_batch([(b"k", b"v"), (None, b"\xff")], base_offset=0, timestamp_ms=1_000)
    second = build_batch([(b"l", None)], base_offset=2, timestamp_ms=2_000)
    file.write_bytes(first + second)
    (directory / "README").write_text("no file of a log")
    return file


def flip(file: Path, position: int) -> None:
    data = bytearray(file.read_bytes())
    data[position] ^= 1
    file.write_bytes(data)


def test_dump_shows_batches_and_records(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(segment), "--records"]) == 0
    printed = capsys.readouterr().out
    assert "batch position=0 base_offset=0 last_offset=1 records_count=2" in printed
    assert "record offset=0 key='k' value='v' timestamp='1970-01-01T00:00:01.000Z'" in printed
    assert "record offset=1 key=None value_base64='/w=='" in printed


def test_dump_of_a_directory_is_json_lines_of_all_known_files(
    segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "dump", str(segment.parents[1]), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["file"], line["base_offset"]) for line in lines] == [
        (str(segment), 0),
        (str(segment), 2),
    ]


def test_dump_tells_a_torn_tail_from_damage(
    segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-5])
    assert main(["log", "dump", str(segment)]) == 0
    assert "torn tail at byte" in capsys.readouterr().out
    segment.write_bytes(whole)
    flip(segment, 16)
    assert main(["log", "dump", str(segment)]) == 1
    assert "UNREADABLE at byte 0" in capsys.readouterr().out


def test_verify_finds_nothing_where_nothing_is_wrong(
    segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", "verify", str(segment.parent)]) == 0
    assert "nothing is wrong" in capsys.readouterr().out


def test_verify_finds_a_flipped_bit(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip(segment, 70)
    assert main(["log", "verify", str(segment), "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["file"], finding["finding"]) == (str(segment), "bad-checksum")


@pytest.mark.parametrize("verb", ["dump", "verify"])
def test_absent_path_is_status_four(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", verb, str(tmp_path / "absent")]) == 4
    assert "there is no file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["dump", "verify"])
def test_other_files_are_refused_by_name(
    verb: str, segment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["log", verb, str(segment.parent / "README")]) == 1
    assert "not a file of a log" in capsys.readouterr().err
