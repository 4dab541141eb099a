"""Plain tables: the manifest, the view for patterns, compaction under readers."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from pathlib import Path

import duckdb
import pytest

from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.tables import open_table
from headrace.pipeline.tables.errors import (
    CompactionNotPossible,
    DamagedTable,
    ForeignTable,
)
from headrace.pipeline.tables.manifest import FULL_EVERY
from headrace.pipeline.tables.manifest_log import VERSIONS_KEPT, manifest_path
from headrace.pipeline.tables.plain import PlainTable, files
from headrace.pipeline.tables.settings import table_settings

from .batches import (
    JOB,
    SCHEMA,
    START_MS,
    commit_batch,
    count,
    count_pattern,
    positions_after,
    ranges_of,
    rows_of,
    write_file,
)

HOUR = "date=2026-11-16/hour=10"
MINUTE_MS = 60_000


@pytest.fixture
def root(tmp_path):
    return str(tmp_path / "orders")


@pytest.fixture
def clock():
    """Milliseconds, in a list so that a test can turn it."""
    return [time.time_ns() // 1_000_000]


@pytest.fixture
def table(root, clock):
    settings = table_settings("hour", {"sync": "false"})
    with PlainTable(root, settings, now_ms=lambda: clock[0]) as opened:
        yield opened


def data_files(root):
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(os.path.join(root, "_headrace", "data"))
        for name in names
    ]
    return sorted(found)


def test_a_pattern_sees_committed_files_only(root, table):
    write_file(table, ranges_of(0)[0])
    assert count_pattern(root) == (0, 0)
    commit_batch(table, 0)
    write_file(table, ranges_of(1)[0])
    assert count_pattern(root) == (rows_of(1), rows_of(1))


def test_names_in_the_view_are_made_of_offsets(root, table):
    commit_batch(table, 0)
    assert sorted(os.listdir(os.path.join(root, HOUR))) == [
        "records-orders-0-00000000000000000000-00000000000000000010.parquet",
        "records-orders-1-00000000000000000000-00000000000000000010.parquet",
    ]


def test_a_table_without_partitions_has_a_view_too(root):
    with open_table("plain", root, partition_by="none") as table:
        for batch_id in range(3):
            commit_batch(table, batch_id)
        assert len(os.listdir(os.path.join(root, "all"))) == 6
        table.compact()
        assert len(os.listdir(os.path.join(root, "all"))) == 1
    assert count_pattern(root) == (rows_of(3), rows_of(3))


def test_a_view_that_was_lost_is_made_again(root, table):
    commit_batch(table, 0)
    table.close()
    shutil.rmtree(os.path.join(root, "date=2026-11-16"))
    with open_table("plain", root) as again:
        assert not commit_batch(again, 0)
    assert count_pattern(root) == (rows_of(1), rows_of(1))


def test_a_table_may_have_no_view(root):
    with open_table("plain", root, options={"view": "false"}) as table:
        commit_batch(table, 0)
        assert os.listdir(root) == ["_headrace"]
        assert count(files(root)) == (rows_of(1), rows_of(1))


def test_versions_say_what_they_change_and_sometimes_everything(root, table):
    for batch_id in range(FULL_EVERY + 2):
        commit_batch(table, batch_id)
    first, second, full, last = (
        json.loads(Path(root, manifest_path(version)).read_text())
        for version in (1, 2, FULL_EVERY + 1, FULL_EVERY + 2)
    )
    assert (len(first["files"]), len(second["added"])) == (2, 2)
    assert len(full["files"]) == 2 * (FULL_EVERY + 1)
    assert (last["base"], len(last["added"])) == (FULL_EVERY + 1, 2)
    job = last["jobs"][JOB]
    assert (job["batch_id"], job["positions"]) == (FULL_EVERY + 1, {"orders": {"0": 220, "1": 220}})
    assert job["source"] == {"cluster": "", "topics": {}}
    assert count(files(root)) == (rows_of(FULL_EVERY + 2), rows_of(FULL_EVERY + 2))


def test_files_of_no_table_is_an_error(tmp_path):
    with pytest.raises(ForeignTable):
        files(str(tmp_path))


def test_a_directory_with_other_things_is_left_alone(root):
    os.makedirs(root)
    Path(root, "mine.parquet").touch()
    with open_table("plain", root) as table, pytest.raises(ForeignTable, match="not empty"):
        commit_batch(table, 0)


def test_a_file_that_vanished_before_its_commit_is_an_error(root, table):
    file = write_file(table, ranges_of(0)[0])
    os.unlink(os.path.join(root, file.path))
    with pytest.raises(DamagedTable, match="gone"):
        table.commit(JOB, 0, [file], [], SCHEMA, positions_after(0))
    assert table.committed_batch(JOB) is None


@pytest.mark.parametrize("text", ["", "{}", '{"format": 2}', "[]"])
def test_a_manifest_that_is_none_is_an_error(root, table, text):
    commit_batch(table, 0)
    with open(os.path.join(root, manifest_path(1)), "w") as file:
        file.write(text)
    with pytest.raises(DamagedTable, match="manifest"):
        files(root)


def test_a_version_that_is_gone_is_an_error(root, table):
    commit_batch(table, 0)
    commit_batch(table, 1)
    os.unlink(os.path.join(root, manifest_path(1)))
    with pytest.raises(DamagedTable, match="missing below 2"):
        files(root)


def test_a_hint_that_is_no_number_is_an_error(root, table):
    commit_batch(table, 0)
    with open(os.path.join(root, "_headrace", "current"), "w") as file:
        file.write("seven")
    with pytest.raises(DamagedTable, match="number"):
        files(root)


def test_another_partitioning_is_refused(root, table):
    commit_batch(table, 0)
    with pytest.raises(SchemaConflict, match="partitioned"):
        open_table("plain", root, options={"partition.columns": "day,hour"})


def test_replaced_files_go_after_the_retention_time(root, table, clock):
    for batch_id in range(3):
        commit_batch(table, batch_id)
    table.compact()
    assert len(data_files(root)) == 7
    clock[0] += 59 * MINUTE_MS
    table.compact()
    assert len(data_files(root)) == 7
    clock[0] += MINUTE_MS
    table.compact()
    assert data_files(root) == table.files()
    assert count_pattern(root) == (rows_of(3), rows_of(3))


def test_files_that_were_never_committed_go_after_a_day(root, table, clock):
    commit_batch(table, 0, parked=True)
    commit_batch(table, 0, parked=True)
    unfinished = os.path.join(root, "_headrace", "current.abc.tmp")
    Path(unfinished).touch()
    clock[0] += 23 * 60 * MINUTE_MS
    table.compact(target_bytes=1)
    assert len(data_files(root)) == 4
    clock[0] += 2 * 60 * MINUTE_MS
    table.compact(target_bytes=1)
    assert data_files(root) == sorted(table.files())
    assert not os.path.exists(unfinished)
    assert count(table.parked_files()) == (2, 2)


def test_old_versions_go_and_a_writer_that_slept_knows_it(root, table, clock, monkeypatch):
    commit_batch(table, 0)
    with open_table("plain", root) as sleeper:
        sleeper._lock = None
        commit_batch(sleeper, 0)
        asleep = sleeper._read()
        for batch_id in range(1, VERSIONS_KEPT + 2 * FULL_EVERY):
            table.commit(JOB, batch_id, [], [], SCHEMA, positions_after(batch_id))
        table.compact()
        assert not os.path.exists(os.path.join(root, manifest_path(2)))
        answers = [asleep]
        original = sleeper._read
        monkeypatch.setattr(sleeper, "_read", lambda: answers.pop() if answers else original())
        assert not commit_batch(sleeper, 1)
    assert not os.path.exists(os.path.join(root, manifest_path(2)))
    assert count(files(root)) == (rows_of(1), rows_of(1))


def test_compaction_without_an_exchange_is_refused(root, table, monkeypatch):
    from headrace.pipeline.tables import glob_view

    def refuse(one, other):
        raise CompactionNotPossible("no such call")

    for batch_id in range(2):
        commit_batch(table, batch_id)
    monkeypatch.setattr(glob_view, "exchange", refuse)
    with pytest.raises(CompactionNotPossible):
        table.compact()
    assert commit_batch(table, 2)
    assert count_pattern(root) == (rows_of(3), rows_of(3))


def test_what_others_put_into_the_view_is_kept(root, table):
    for batch_id in range(2):
        commit_batch(table, batch_id)
    note = os.path.join(root, HOUR, "README")
    os.mkdir(os.path.join(root, HOUR, "folder"))
    with open(note, "w") as file:
        file.write("mine")
    table.compact()
    assert Path(note).read_text() == "mine"
    assert os.path.isdir(os.path.join(root, HOUR, "folder"))
    assert count_pattern(root) == (rows_of(2), rows_of(2))


class Reader(threading.Thread):
    """Counts again and again; an error of the file system is part of reading by pattern."""

    def __init__(self, look):
        super().__init__()
        self._look = look
        self._is_over = threading.Event()
        self.seen = []
        self.failures = []

    def run(self):
        with duckdb.connect(config={"threads": 1}) as connection:
            while not self._is_over.is_set():
                try:
                    self.seen.append(self._look(connection))
                except duckdb.IOException as error:
                    self.failures.append(error)

    def stop(self):
        self._is_over.set()
        self.join()


def rows_by(connection, source):
    query = f'select count(*), count(distinct (partition, "offset")) from read_parquet({source})'
    return connection.sql(query).fetchall()[0]


def test_readers_do_not_notice_compactions(root, table):
    commit_batch(table, 0)
    by_list = Reader(lambda connection: rows_by(connection, files(root)))
    by_pattern = Reader(lambda connection: rows_by(connection, f"'{root}/**/*.parquet'"))
    by_list.start()
    by_pattern.start()
    last = 0
    deadline = time.monotonic() + 30
    while len(by_pattern.seen) < 40 and time.monotonic() < deadline:
        last += 1
        commit_batch(table, last, timestamp_ms=START_MS)
        if last % 3 == 0:
            table.compact()
    by_list.stop()
    by_pattern.stop()
    assert by_list.failures == []
    for seen in (by_list.seen, by_pattern.seen):
        assert len(seen) > 5
        assert all(rows == offsets for rows, offsets in seen), "a record was seen twice"
        assert seen == sorted(seen), "a record was seen, and then not"
    assert all(rows % rows_of(1) == 0 for rows, _ in by_list.seen)
    assert count_pattern(root) == (rows_of(last + 1), rows_of(last + 1))


def test_a_version_that_was_made_although_it_is_said_to_exist_is_ours(root, table, monkeypatch):
    """A share or a store that repeats a request by itself."""
    commit_batch(table, 0)
    create, repeated = table._small_files.create, []

    def create_twice(path, data):
        if not repeated:
            repeated.append(create(path, data))
        return create(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(table._small_files, "create", create_twice)
        assert commit_batch(table, 1)
    assert repeated == [True]
    assert count(files(root)) == (rows_of(2), rows_of(2))
    assert count_pattern(root) == (rows_of(2), rows_of(2))
