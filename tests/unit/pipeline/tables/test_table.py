"""One suite for all formats: what a job may rely on, whatever table it writes to."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.errors import (
    ForeignCheckpoint,
    SchemaConflict,
    TargetInUse,
    TargetNotWritable,
)
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables import KINDS, open_table
from headrace.pipeline.tables.commit_rules import SourceIds
from headrace.pipeline.tables.errors import ConcurrentCommit, ForeignTable, OverlappingOffsets
from headrace.pipeline.tables.schemas import plain_schema

from .batches import (
    HOUR_MS,
    JOB,
    SCHEMA,
    START_MS,
    TOPIC,
    commit_batch,
    count,
    count_pattern,
    positions_after,
    ranges_of,
    read,
    rows_of,
    write_file,
)

WIDER = SCHEMA.append(pa.field("price", pa.int64()))


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def url(tmp_path):
    return str(tmp_path / "lake" / "orders")


@pytest.fixture
def table(kind, url):
    with open_table(kind, url) as opened:
        yield opened


def test_a_new_table_is_empty_and_leaves_nothing_behind(kind, url, table):
    assert table.committed_batch(JOB) is None
    assert table.committed_positions(JOB) == {}
    assert table.schema() is None
    assert table.files() == [] == table.parked_files()
    assert not os.path.exists(url)


def test_committed_batches_can_be_read(table):
    assert commit_batch(table, 0)
    assert commit_batch(table, 1)
    assert count(table.files()) == (rows_of(2), rows_of(2))
    assert table.committed_batch(JOB) == 1
    assert table.committed_positions(JOB) == positions_after(1)
    assert plain_schema(table.schema()) == SCHEMA


def test_a_table_opened_again_knows_what_is_in_it(kind, url, table):
    commit_batch(table, 0)
    with open_table(kind, url) as again:
        assert again.committed_batch(JOB) == 0
        assert again.committed_positions(JOB) == positions_after(0)
        assert sorted(again.files()) == sorted(table.files())


def test_pyarrow_reads_the_files_too(table):
    commit_batch(table, 0)
    rows = ds.dataset(table.files(), format="parquet", partitioning="hive").to_table()
    assert rows.num_rows == rows_of(1)
    assert set(rows["date"].to_pylist()) == {"2026-11-16"}
    assert set(rows["hour"].to_pylist()) == {10}


def test_records_of_another_hour_are_in_another_partition(table):
    commit_batch(table, 0)
    commit_batch(table, 1, timestamp_ms=START_MS + 20 * HOUR_MS)
    found = read(table.files(), 'distinct date::text, hour, partition, "offset" // 10')
    assert {(date, hour) for date, hour, _, _ in found} == {("2026-11-16", 10), ("2026-11-17", 6)}


def test_times_that_no_calendar_has_lie_together(table):
    """A task makes a file for each hour, and here all of them have one place and one range."""
    if table.kind == "iceberg":
        pytest.skip("refused; see test_iceberg.py")
    for batch_id in range(2):
        whole = ranges_of(batch_id)[0]
        middle = whole.start + 5
        files = [
            write_file(table, whole, found=whole._replace(end=middle), timestamp_ms=3 * 10**14),
            write_file(table, whole, found=whole._replace(start=middle), timestamp_ms=4 * 10**14),
        ]
        assert table.commit(JOB, batch_id, files, [], SCHEMA, positions_after(batch_id))
        assert count(table.files()) == ((batch_id + 1) * 10,) * 2
        if table.kind == "plain":
            assert count_pattern(table.url) == ((batch_id + 1) * 10,) * 2
    table.compact()
    assert count(table.files()) == (20, 20)
    if table.kind == "plain":
        assert count_pattern(table.url) == (20, 20)


def test_a_replay_is_skipped(table):
    commit_batch(table, 0)
    commit_batch(table, 1)
    assert not commit_batch(table, 1)
    assert not commit_batch(table, 0)
    assert count(table.files()) == (rows_of(2), rows_of(2))


def test_a_batch_without_files_moves_the_positions(table):
    commit_batch(table, 0)
    assert table.commit(JOB, 1, [], [], SCHEMA, positions_after(1))
    assert table.committed_batch(JOB) == 1
    assert table.committed_positions(JOB) == positions_after(1)
    assert count(table.files()) == (rows_of(1), rows_of(1))


def test_a_known_batch_with_new_offsets_is_a_lost_checkpoint(table):
    commit_batch(table, 5)
    files = [write_file(table, each) for each in ranges_of(6)]
    with pytest.raises(ForeignCheckpoint, match="checkpoint"):
        table.commit(JOB, 0, files, [], SCHEMA, positions_after(6))


def test_offsets_that_are_there_are_refused(table):
    commit_batch(table, 0)
    again = write_file(table, OffsetRange(TOPIC, 0, 5, 15))
    with pytest.raises(OverlappingOffsets, match=r"orders-0\[5, 15\)"):
        table.commit(JOB, 1, [again], [], SCHEMA, positions_after(1))
    assert count(table.files()) == (rows_of(1), rows_of(1))


def test_offsets_beyond_the_batch_are_refused(table):
    beyond = write_file(table, OffsetRange(TOPIC, 0, 0, 11))
    with pytest.raises(OverlappingOffsets, match="beyond"):
        table.commit(JOB, 0, [beyond], [], SCHEMA, positions_after(0))


def test_a_second_job_is_refused(kind, url, table):
    commit_batch(table, 0)
    table.close()
    with open_table(kind, url) as other, pytest.raises(TargetInUse, match=JOB):
        commit_batch(other, 1, job="another")
    assert count(table.files()) == (rows_of(1), rows_of(1))


def test_a_second_job_may_take_over_but_not_repeat_offsets(kind, url, table):
    commit_batch(table, 0)
    table.close()
    with open_table(kind, url, take_over=True) as other:
        with pytest.raises(OverlappingOffsets):
            commit_batch(other, 0, job="another")
        assert commit_batch(other, 1, job="another")
        assert other.committed_batch(JOB) == 0
        assert count(other.files()) == (rows_of(2), rows_of(2))
    with pytest.raises(TargetInUse, match="another"):
        commit_batch(table, 2)


OTHER_PROCESS = """
import sys
from headrace.pipeline.tables import open_table
from tests.unit.pipeline.tables.batches import commit_batch
table = open_table(sys.argv[1], sys.argv[2])
print(commit_batch(table, 0), flush=True)
sys.stdin.read()
"""


def test_two_processes_of_one_job_are_refused_until_one_dies(kind, url):
    command = [sys.executable, "-c", OTHER_PROCESS, kind, url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as other, open_table(kind, url) as table:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        with pytest.raises(TargetInUse, match=JOB):
            table.claim(JOB)
        with pytest.raises(TargetInUse, match=JOB):
            commit_batch(table, 1)
        other.kill()
        other.wait()
        assert commit_batch(table, 1)
        assert count(table.files()) == (rows_of(2), rows_of(2))


def test_columns_may_be_added(table):
    commit_batch(table, 0)
    commit_batch(table, 1, schema=WIDER)
    commit_batch(table, 2)
    assert table.schema().names == [*SCHEMA.names, "price"]
    prices = [price for (price, _, _) in read(table.files(), 'price, partition, "offset"')]
    assert prices == ([None] * 10 + list(range(10, 20)) + [None] * 10) * 2


def test_columns_may_be_added_before_there_are_records(table):
    table.commit(JOB, 0, [], [], SCHEMA, {})
    assert plain_schema(table.schema()) == SCHEMA
    table.commit(JOB, 1, [], [], WIDER, {})
    assert table.schema().names == WIDER.names
    commit_batch(table, 2)
    assert table.schema().names == WIDER.names


def test_a_column_of_another_type_is_a_conflict(table):
    commit_batch(table, 0)
    other = SCHEMA.set(4, pa.field("value", pa.int64()))
    with pytest.raises(SchemaConflict, match="value"):
        commit_batch(table, 1, schema=other)
    assert commit_batch(table, 1)


def test_a_column_called_like_a_partition_is_a_conflict(kind, url, table):
    schema = SCHEMA.append(pa.field("Date", pa.int64()))
    with pytest.raises(SchemaConflict, match=r"partition\.columns"):
        commit_batch(table, 0, schema=schema)
    table.close()
    with open_table(kind, url, options={"partition.columns": "day,hour_of_day"}) as renamed:
        assert commit_batch(renamed, 0, schema=schema)
        assert read(renamed.files(), "distinct day::text, partition")[0][0] == "2026-11-16"


def test_bad_records_are_in_the_side_table(table):
    commit_batch(table, 0, parked=True)
    commit_batch(table, 1, parked=True)
    commit_batch(table, 1, parked=True)
    assert count(table.files()) == (rows_of(2), rows_of(2))
    assert count(table.parked_files()) == (4, 4)
    assert read(table.parked_files(), 'reason, last_offset, partition, "offset"')[0] == (
        "no JSON",
        0,
        0,
        0,
    )


def test_compaction_makes_one_file_of_many(table):
    for batch_id in range(6):
        commit_batch(table, batch_id, schema=WIDER if batch_id > 2 else SCHEMA, parked=True)
    before = read(table.files(), 'partition, "offset", value, price, date, hour')
    parked = read(table.parked_files(), 'partition, "offset", reason')
    report = table.compact()
    assert (report.files_before, report.files_after) == (24, 2)
    assert report.is_complete
    assert report.bytes_before > report.bytes_after > 0
    assert len(table.files()) == len(table.parked_files()) == 1
    assert read(table.parked_files(), 'partition, "offset", reason') == parked
    assert read(table.files(), 'partition, "offset", value, price, date, hour') == before


def test_compaction_keeps_what_the_table_knows(kind, url, table):
    for batch_id in range(4):
        commit_batch(table, batch_id)
    table.compact()
    assert table.committed_positions(JOB) == positions_after(3)
    assert not commit_batch(table, 3)
    assert commit_batch(table, 4)
    table.compact()
    table.close()
    with open_table(kind, url) as again:
        assert not commit_batch(again, 4)
        assert count(again.files()) == (rows_of(5), rows_of(5))


def test_compaction_leaves_large_files_and_other_hours_alone(table):
    commit_batch(table, 0)
    commit_batch(table, 1, timestamp_ms=START_MS + HOUR_MS)
    assert table.compact(target_bytes=100).files_before == 0
    assert table.compact().files_after == 2
    assert table.compact().files_before == 0


def test_readers_of_an_older_list_do_not_notice_a_compaction(table):
    for batch_id in range(4):
        commit_batch(table, batch_id)
    older = table.files()
    table.compact()
    assert count(older) == (rows_of(4), rows_of(4))


@pytest.mark.parametrize("partition_by", ["date", "none"])
def test_wider_partitions(kind, url, partition_by):
    with open_table(kind, url, partition_by=partition_by) as table:
        commit_batch(table, 0)
        commit_batch(table, 1)
        assert count(table.files()) == (rows_of(2), rows_of(2))
        table.compact()
        assert count(table.files()) == (rows_of(2), rows_of(2))
    with pytest.raises(SchemaConflict, match="partitioned"):
        open_table(kind, url, partition_by="hour")


def test_what_is_no_table_of_ours_is_left_alone(url):
    with open_table("plain", url) as table:
        commit_batch(table, 0)
    for kind in ("delta", "iceberg"):
        with open_table(kind, url) as other, pytest.raises(ForeignTable):
            commit_batch(other, 0)


def test_a_target_that_is_a_file_is_refused(kind, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TargetNotWritable), open_table(kind, str(tmp_path / "file")) as table:
        commit_batch(table, 0)
    assert (tmp_path / "file").read_text() == "mine"


def test_an_unknown_kind_is_refused(url):
    with pytest.raises(InvalidConfig, match="hudi"):
        open_table("hudi", url)


SOURCE = SourceIds("cluster-1", {TOPIC: "0102"})


def test_whose_offsets_they_are_stands_beside_them(kind, url, table):
    assert table.committed_source(JOB) == SourceIds()
    table.commit(JOB, 0, [], [], SCHEMA, positions_after(0), SOURCE)
    table.commit(JOB, 1, [], [], SCHEMA, positions_after(1), SOURCE)
    table.compact()
    table.close()
    with open_table(kind, url) as again:
        assert again.committed_source(JOB) == SOURCE


def test_who_takes_over_knows_where_the_others_got_to(kind, url, table):
    commit_batch(table, 0)
    table.close()
    with open_table(kind, url) as other:
        assert other.committed_positions("another") == {}
        with pytest.raises(TargetInUse, match=JOB):
            other.claim("another")
    with open_table(kind, url, take_over=True) as heir:
        heir.claim("another")
        assert heir.committed_positions("another") == positions_after(0)
        assert heir.committed_batch("another") is None


def test_a_commit_whose_answer_was_lost_is_known_to_be_ours(table, monkeypatch):
    """The library tells of a conflict, and it was our own first attempt that won."""
    commit_batch(table, 0)
    original, lost = table._append, []

    def append_and_lose_the_answer(*arguments):
        original(*arguments)
        if not lost:
            lost.append(True)
            raise ConcurrentCommit("somebody was first")

    with monkeypatch.context() as patch:
        patch.setattr(table, "_append", append_and_lose_the_answer)
        assert commit_batch(table, 1, parked=True)
    assert count(table.parked_files()) == (2, 2), "what follows from the commit was done"
    assert not commit_batch(table, 1)
    assert count(table.files()) == (rows_of(2), rows_of(2))
    assert count(table.parked_files()) == (2, 2)


def let_another_go_first(table, go, monkeypatch):
    """Between reading and writing of one commit, something else happens to the table."""
    original, done = table._write, []

    def write(*arguments):
        if not done:
            done.append(go())
        original(*arguments)

    monkeypatch.setattr(table, "_write", write)


@pytest.fixture
def rival(kind, url):
    """The same table in other hands, as on another machine: no lock between the two."""
    with open_table(kind, url) as opened:
        opened._lock = None
        yield opened


def test_of_two_commits_of_one_batch_one_goes_in(table, rival, monkeypatch):
    commit_batch(table, 0)
    let_another_go_first(table, lambda: commit_batch(rival, 1), monkeypatch)
    assert not commit_batch(table, 1)
    assert count(table.files()) == (rows_of(2), rows_of(2))


def test_of_two_first_commits_one_goes_in(table, rival, monkeypatch):
    let_another_go_first(table, lambda: commit_batch(rival, 0), monkeypatch)
    assert not commit_batch(table, 0)
    assert count(table.files()) == (rows_of(1), rows_of(1))


def test_of_two_jobs_that_begin_together_one_is_refused(table, rival, monkeypatch):
    let_another_go_first(table, lambda: commit_batch(rival, 0, job="another"), monkeypatch)
    with pytest.raises(TargetInUse, match="another"):
        commit_batch(table, 0)
    assert count(table.files()) == (rows_of(1), rows_of(1))


def test_a_commit_goes_in_after_a_compaction_that_crossed_it(table, rival, monkeypatch):
    for batch_id in range(3):
        commit_batch(table, batch_id)
    let_another_go_first(table, rival.compact, monkeypatch)
    assert commit_batch(table, 3)
    assert count(table.files()) == (rows_of(4), rows_of(4))


def test_a_compaction_gives_way_to_a_commit(table, rival, monkeypatch):
    for batch_id in range(3):
        commit_batch(table, batch_id)
    original = table._read

    def read_and_be_late():
        snapshot = original()
        commit_batch(rival, 3)
        return snapshot

    monkeypatch.setattr(table, "_read", read_and_be_late)
    table.compact()
    monkeypatch.undo()
    assert count(table.files()) == (rows_of(4), rows_of(4))
    assert table.committed_batch(JOB) == 3
