from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from headrace.pipeline.sink.columns import (
    PARTITION_ANY,
    STAGED_SCHEMA,
    check_schema,
    to_staged,
    topics_of,
)
from headrace.pipeline.sink.errors import InvalidSinkRow, InvalidSinkSchema

HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)


def schema(**types: object) -> StructType:
    return StructType([StructField(name, kind) for name, kind in types.items()])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [StringType(), BinaryType()])
def test_value_may_be_text_or_bytes(kind: StringType | BinaryType) -> None:
    check_schema(schema(value=kind, key=kind), "t")


def test_a_column_topic_is_not_looked_at_if_there_is_the_option() -> None:
    check_schema(schema(value=BinaryType(), topic=LongType()), "t")


def test_all_columns_of_sparks_kafka_sink() -> None:
    check_schema(
        schema(
            key=BinaryType(),
            value=BinaryType(),
            topic=StringType(),
            partition=IntegerType(),
            headers=HEADERS,
        ),
        None,
    )


def test_columns_that_are_not_written_may_be_there() -> None:
    check_schema(schema(value=BinaryType(), offset=LongType()), "t")


@pytest.mark.parametrize(
    ("columns", "topic", "text"),
    [
        ({"key": BinaryType()}, "t", "no column 'value'"),
        ({"value": BinaryType()}, None, "no topic"),
        ({"value": LongType()}, "t", "column 'value' is bigint, but must be string or binary"),
        ({"value": BinaryType(), "key": LongType()}, "t", "column 'key' is bigint"),
        ({"value": BinaryType(), "topic": BinaryType()}, None, "column 'topic' is binary"),
        ({"value": BinaryType(), "partition": LongType()}, "t", "column 'partition' is bigint"),
        (
            {"value": BinaryType(), "headers": MapType(StringType(), BinaryType())},
            "t",
            "column 'headers' is map",
        ),
        ({"value": BinaryType(), "headers": ArrayType(StringType())}, "t", "column 'headers'"),
    ],
)
def test_what_cannot_become_a_record_is_refused(
    columns: dict[str, object], topic: str | None, text: str
) -> None:
    with pytest.raises(InvalidSinkSchema, match=text):
        check_schema(schema(**columns), topic)


def test_text_becomes_bytes_and_absent_columns_nulls() -> None:
    batch = pa.record_batch({"value": pa.array(["ä", None])})
    staged = to_staged(batch, "t")
    assert staged.schema == STAGED_SCHEMA
    assert staged.to_pylist() == [
        {"topic": "t", "partition": None, "key": None, "value": "ä".encode(), "headers": None},
        {"topic": "t", "partition": None, "key": None, "value": None, "headers": None},
    ]


def test_headers_as_spark_sends_them() -> None:
    header = pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])
    column = pa.array([[("a", b"1"), ("a", None)], None], pa.list_(pa.field("element", header)))
    staged = to_staged(pa.record_batch({"value": pa.array([b"", b""]), "headers": column}), "t")
    assert staged.column("headers").to_pylist() == [
        [{"key": "a", "value": b"1"}, {"key": "a", "value": None}],
        None,
    ]


def test_large_types_are_taken() -> None:
    batch = pa.record_batch({"value": pa.array([b"x"], pa.large_binary())})
    assert to_staged(batch, "t").column("value").to_pylist() == [b"x"]


def test_option_topic_is_stronger_than_the_column() -> None:
    batch = pa.record_batch({"value": pa.array([b"x"]), "topic": pa.array(["column"])})
    assert to_staged(batch, "option").column("topic").to_pylist() == ["option"]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"topic": pa.array(["t", None])}, "1 rows have a null in column 'topic'"),
        (
            {"topic": pa.array(["t", "t"]), "partition": pa.array([0, -2], pa.int32())},
            "column 'partition' holds -2",
        ),
        (
            {
                "topic": pa.array(["t", "t"]),
                "headers": pa.array(
                    [[{"key": None, "value": b"x"}], []],
                    pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
                ),
            },
            "a header without a key",
        ),
    ],
)
def test_bad_rows_are_refused(columns: dict[str, pa.Array], text: str) -> None:
    with pytest.raises(InvalidSinkRow, match=text):
        to_staged(pa.record_batch({"value": pa.array([b"", b""]), **columns}), None)


def test_topics_come_with_the_highest_partition() -> None:
    batch = pa.record_batch(
        {
            "value": pa.array([b""] * 4),
            "topic": pa.array(["a", "b", "a", "a"]),
            "partition": pa.array([1, None, 5, None], pa.int32()),
        }
    )
    assert topics_of(to_staged(batch, None)) == {"a": 5, "b": PARTITION_ANY}


def test_no_rows_have_no_topics() -> None:
    batch = pa.record_batch({"value": pa.array([], pa.binary())})
    assert topics_of(to_staged(batch, "t")) == {}
