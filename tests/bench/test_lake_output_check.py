"""Files that hold too few records, too many, or others are noticed."""

from __future__ import annotations

import pytest

from bench.lake.shapes import Shape, TopicContent

duckdb = pytest.importorskip("duckdb")

from bench.lake.output_check import OutputWrong, check_output  # noqa: E402

CONTENT = TopicContent("orders", 2, 20, Shape("10 B", 10, 5, 20))


def write(target, rows, name="part"):
    target.mkdir(parents=True, exist_ok=True)
    values = ", ".join(
        f"({partition}, {offset}, '{value}'::BLOB)" for partition, offset, value in rows
    )
    duckdb.sql(
        f'COPY (SELECT * FROM (VALUES {values}) AS t("partition", "offset", "value"))'
        f" TO '{target}/{name}.parquet' (FORMAT parquet)"
    )


def rows(*, offsets=range(10), value="x" * 10):
    return [(partition, offset, value) for partition in range(2) for offset in offsets]


def test_every_offset_of_every_partition_once(tmp_path):
    write(tmp_path / "all", rows(offsets=range(4)), "one")
    write(tmp_path, rows(offsets=range(4, 10)), "two")
    found = check_output(str(tmp_path), CONTENT)
    assert found.files == 2
    assert found.size_bytes > 100


@pytest.mark.parametrize(
    "wrong",
    [
        rows(offsets=range(9)),
        rows(offsets=[*range(9), 8]),
        rows(offsets=range(1, 11)),
        rows(value="x"),
        rows()[:10],
    ],
    ids=["too few", "one twice", "others", "short values", "a partition missing"],
)
def test_anything_else_is_wrong(tmp_path, wrong):
    write(tmp_path, wrong)
    with pytest.raises(OutputWrong, match="orders became"):
        check_output(str(tmp_path), CONTENT)


def test_no_files_are_wrong_too(tmp_path):
    with pytest.raises(OutputWrong):
        check_output(str(tmp_path), CONTENT)
