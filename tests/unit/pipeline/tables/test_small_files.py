"""One suite for both kinds of places: a disk and an object store."""

from __future__ import annotations

import os

import pytest
from obstore.store import MemoryStore, S3Store

from headrace.pipeline.errors import TargetFull, TargetNotWritable
from headrace.pipeline.tables.errors import TargetUnreachable
from headrace.pipeline.tables.manifest import Change, Partitioning
from headrace.pipeline.tables.manifest_log import ManifestLog
from headrace.pipeline.tables.small_files import LocalFiles, StoredFiles


@pytest.fixture(params=["disk", "store"])
def files(request, tmp_path):
    return LocalFiles(str(tmp_path)) if request.param == "disk" else StoredFiles(MemoryStore())


def test_what_is_not_there_is_none(files):
    assert files.read("a/b") is None
    assert not files.exists("a/b")
    assert list(files.listing("a")) == []
    files.remove("a/b")


def test_a_file_is_created_once(files):
    assert files.create("a/b", b"one")
    assert not files.create("a/b", b"two")
    assert files.read("a/b") == b"one"


def test_a_file_is_replaced(files):
    files.replace("a/b", b"one")
    files.replace("a/b", b"two")
    assert files.read("a/b") == b"two"
    files.remove("a/b")
    assert not files.exists("a/b")


def test_listings_go_down_and_know_times(files):
    files.create("a/b/c", b"")
    files.create("a/d", b"")
    found = dict(files.listing("a"))
    assert set(found) == {"a/b/c", "a/d"}
    assert all(modified_ms > 1_600_000_000_000 for modified_ms in found.values())


def test_a_place_is_empty_until_somebody_else_comes(files):
    assert files.is_empty()
    files.create("_headrace/current", b"1")
    assert files.is_empty()
    files.create("other", b"")
    assert not files.is_empty()


def test_missing_files_cannot_be_synced(files):
    files.create("a/b", b"one")
    files.sync(["a/b"])
    with pytest.raises((TargetNotWritable, FileNotFoundError)):
        files.sync(["a/b", "a/c"])


def test_versions_exclude_each_other(files):
    one, other = ManifestLog(files, "here"), ManifestLog(files, "here")
    assert one.latest() is None
    nothing = {"schema": None, "change": Change(), "now_ms": 1}
    partitioning = Partitioning(("date",), None)
    state = one_state()
    first = one.append(None, partitioning, state=state, **nothing)
    with pytest.raises(Exception, match="version 1"):
        other.append(None, partitioning, state=state, **nothing)
    assert other.latest() == first
    assert other.append(first, partitioning, state=state, **nothing).version == 2
    files.remove("_headrace/current")
    assert ManifestLog(files, "here").latest().version == 2


def one_state():
    from headrace.pipeline.tables.commit_rules import EMPTY_STATE

    return EMPTY_STATE.after("job", 3, {"orders": {0: 5}})


def test_nothing_is_left_behind_on_a_disk(tmp_path):
    files = LocalFiles(str(tmp_path))
    files.create("a", b"1")
    files.create("a", b"2")
    files.replace("b", b"3")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(TargetFull, match="space"):
        LocalFiles(str(tmp_path)).create("a", b"1")


@pytest.mark.parametrize("call", ["read", "exists", "remove", "create", "replace", "sync"])
def test_a_store_that_does_not_answer_is_named(call):
    """Nobody listens on that port."""
    options = {"endpoint": "http://127.0.0.1:9", "allow_http": "true", "skip_signature": "true"}
    store = S3Store("lake", **options, retry_config={"max_retries": 0})
    files = StoredFiles(store, "s3://lake")
    arguments = {"create": ("a", b""), "replace": ("a", b""), "sync": (["a"],)}
    with pytest.raises(TargetUnreachable, match="s3://lake"):
        getattr(files, call)(*arguments.get(call, ("a",)))
