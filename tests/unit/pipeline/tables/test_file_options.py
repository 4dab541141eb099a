"""How columns are written, by what they hold."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.pipeline.tables.file_options import writer_options

RECORD = [
    ("key", pa.binary()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", "UTC")),
    ("topic", pa.string()),
]


def written(schema):
    sink = io.BytesIO()
    rows = pa.Table.from_pylist([{}], schema=schema)
    with pq.ParquetWriter(sink, schema, **writer_options(schema)) as writer:
        writer.write_table(rows)
    return pq.read_metadata(io.BytesIO(sink.getvalue())).row_group(0)


def test_whole_values_have_no_statistics_and_no_dictionary():
    options = writer_options(pa.schema([*RECORD, ("value", pa.binary())]))
    assert options["use_dictionary"] == ["topic"]
    assert options["write_statistics"] == ["key", "offset", "timestamp", "topic"]


def test_a_decoded_field_called_value_is_a_column_like_others():
    options = writer_options(pa.schema([*RECORD, ("value", pa.float64())]))
    assert "value" in options["use_dictionary"]
    assert "value" in options["write_statistics"]


def test_tables_without_the_columns_of_records_can_be_written():
    for schema in (
        pa.schema([("n", pa.int64())]),
        pa.schema([("key", pa.string()), ("offset", pa.string()), ("timestamp", pa.date32())]),
    ):
        assert written(schema).num_rows == 1


def test_pages_are_small_where_the_codec_does_not_look_further():
    schema = pa.schema([*RECORD, ("value", pa.binary())])
    pages = {
        codec: writer_options(schema, 1, codec)["data_page_size"] for codec in ("snappy", "zstd")
    }
    assert pages == {"snappy": 128 * 1024, "zstd": 1024 * 1024}
