"""One behaviour of all locations, and what only one of them does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from headrace.pipeline.errors import StorageUnreachable
from headrace.pipeline.storage_location import (
    FileVanished,
    LocalLocation,
    ObjectLocation,
    StorageLocation,
    cluster_id_of,
    open_location,
)

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    folder = tmp_path / "topic-0"
    folder.mkdir()
    (folder / "a.log").write_bytes(CONTENT)
    (folder / "a.index").write_bytes(b"")
    (folder / "note.txt").write_bytes(b"x")
    (tmp_path / "meta.properties").write_text("cluster.id=abc\nversion=1\n")
    return tmp_path


@pytest.fixture(params=["", "file://", "obstore+file://"])
def location(request: pytest.FixtureRequest, directory: Path) -> StorageLocation:
    return open_location(f"{request.param}{directory}")


def test_files_are_listed_by_their_suffix(location: StorageLocation):
    files = {file.name: file.size_bytes for file in location.files("topic-0", (".log", ".index"))}
    assert files == {"a.log": len(CONTENT), "a.index": 0}


def test_directory_that_is_not_there_has_no_files(location: StorageLocation):
    assert location.files("topic-7", (".log",)) == []


def test_identity_changes_with_the_file(location: StorageLocation, directory: Path):
    (before,) = location.files("topic-0", (".log",))
    (directory / "topic-0" / "new").write_bytes(CONTENT[:-1])
    (directory / "topic-0" / "new").replace(directory / "topic-0" / "a.log")
    (after,) = location.files("topic-0", (".log",))
    assert before.identity != after.identity


def test_small_files_are_read_as_a_whole(location: StorageLocation):
    assert location.read("topic-0/a.log", len(CONTENT)) == CONTENT
    assert location.read("topic-0/a.index", 10) == b""


def test_file_larger_than_its_limit_is_refused(location: StorageLocation):
    with pytest.raises(StorageUnreachable, match="larger than 100 bytes"):
        location.read("topic-0/a.log", 100)


def test_missing_file_has_vanished(location: StorageLocation):
    with pytest.raises(FileVanished):
        location.read("topic-0/b.log", 100)


def test_windows_give_the_bytes_of_the_file(location: StorageLocation):
    file = location.open("topic-0/a.log", len(CONTENT))
    try:
        assert file.size_bytes == len(CONTENT)
        position = 0
        for size in (1000, 1000, 300, 3000, 700):
            assert file.window(position, size) == CONTENT[position : position + size]
            position += size - 37
        assert file.window(5, 10) == CONTENT[5:15]
        assert file.window(len(CONTENT) - 4, 100) == CONTENT[-4:]
        assert len(file.window(len(CONTENT), 100)) == 0
    finally:
        file.close()


def test_opening_or_reading_a_missing_segment_is_told(location: StorageLocation):
    with pytest.raises(FileVanished):
        location.open("topic-0/b.log", 10).window(0, 10)


def test_cluster_id_is_read(location: StorageLocation):
    assert cluster_id_of(location) == "abc"


def test_location_without_an_identity_is_unreachable(location: StorageLocation, directory: Path):
    (directory / "meta.properties").write_text("version=1\n")
    with pytest.raises(StorageUnreachable, match="names no cluster"):
        cluster_id_of(location)
    (directory / "meta.properties").unlink()
    with pytest.raises(StorageUnreachable, match=r"there is no meta\.properties"):
        cluster_id_of(location)


def test_mapped_file_outlives_its_name(directory: Path):
    file = LocalLocation(str(directory)).open("topic-0/a.log", 0)
    (directory / "topic-0" / "a.log").unlink()
    assert file.window(100, 50) == CONTENT[100:150]
    file.close()
    file.close()


def test_mapped_file_that_became_shorter_is_not_touched(directory: Path):
    file = LocalLocation(str(directory)).open("topic-0/a.log", 0)
    os.truncate(directory / "topic-0" / "a.log", 100)
    with pytest.raises(FileVanished, match="shorter"):
        file.window(5000, 50)
    file.close()


def test_empty_file_has_empty_windows(directory: Path):
    file = LocalLocation(str(directory)).open("topic-0/a.index", 0)
    assert len(file.window(0, 100)) == 0
    file.close()


class ReplacedMeanwhile(ObjectLocation):
    """Whose object is another one when it is read ahead; all at once, as stores do it."""

    def get(self, path: str, start: int, end: int) -> Any:
        if start == 1000:
            place = Path(self.url.removeprefix("file://")) / path
            new = place.with_suffix(".new")
            new.write_bytes(b"\xff" * len(CONTENT))
            new.replace(place)
        return super().get(path, start, end)


def test_versions_of_an_object_are_not_mixed(directory: Path):
    file = ReplacedMeanwhile(f"file://{directory}").open("topic-0/a.log", len(CONTENT))
    assert file.window(0, 1000) == CONTENT[:1000]
    first = file.identity
    assert file.window(900, 1000) == b"\xff" * 1000
    assert file.identity != first
    file.close()


def test_object_that_became_shorter_has_vanished(directory: Path):
    file = ObjectLocation(f"file://{directory}").open("topic-0/a.log", len(CONTENT))
    (directory / "topic-0" / "a.log").write_bytes(CONTENT[:500])
    with pytest.raises(FileVanished, match="shorter"):
        file.window(0, 1000)
    file.close()


@pytest.mark.parametrize("url", ["file://host/x", "nonsense://x/y"])
def test_url_that_cannot_be_meant_is_unreachable(url: str):
    with pytest.raises(StorageUnreachable):
        open_location(url)


def test_url_may_be_quoted(tmp_path: Path):
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "meta.properties").write_text("cluster.id=q\n")
    assert cluster_id_of(open_location(f"file://{tmp_path}/a%20b")) == "q"
