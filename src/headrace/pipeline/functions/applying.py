"""Runs a function over Arrow batches, in a Spark task.

Results and dead letters leave together, as rows with a topic: the sink writes both in one
transaction, so a record is never in neither and never in both.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.pipeline.functions.definition import OnError
from headrace.pipeline.functions.errors import FunctionFailed
from headrace.pipeline.functions.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headrace.pipeline.functions.definition import StreamFunction
    from headrace.pipeline.functions.record import Header

# A function that never stops yielding must not take the machine with it.
RESULTS_PER_RECORD_MAX = 100_000
RESULT_BYTES_PER_RECORD_MAX = 64 * 1024 * 1024
REASON_CHARACTERS_MAX = 1_000
# A batch of results leaves when it has as many rows or bytes.
OUTPUT_ROWS = 8_192
OUTPUT_BYTES = 16 * 1024 * 1024

OUTPUT_SPARK_SCHEMA = (
    "topic string, key binary, value binary, headers array<struct<key: string, value: binary>>"
)
_HEADER = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
OUTPUT_SCHEMA = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.field("element", _HEADER))),
    ]
)
ERROR_HEADER_PREFIX = "headrace.error."

Row = tuple[str, bytes | None, bytes | None, list[dict[str, Any]]]


def apply(
    job: StreamFunction, tables: Mapping[str, Any], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The rows that the function makes of the batches, in ``OUTPUT_SCHEMA``."""
    rows: list[Row] = []
    size_bytes = 0
    for batch in batches:
        for record in records_of(batch):
            made = _rows_for(job, tables, record)
            rows += made
            size_bytes += sum(map(_size_bytes, made))
            if len(rows) >= OUTPUT_ROWS or size_bytes >= OUTPUT_BYTES:
                yield _to_batch(rows)
                rows, size_bytes = [], 0
    if rows:
        yield _to_batch(rows)


def records_of(batch: pa.RecordBatch) -> Iterator[Record]:
    """The rows of ``format("headrace")`` as records; ``headers`` may be missing."""
    columns = {name: batch.column(name) for name in batch.schema.names}
    times_ms = columns["timestamp"].cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
    for key, value, row_headers, topic, partition, offset, time_ms in zip(
        columns["key"].to_pylist(),
        columns["value"].to_pylist(),
        _headers(columns.get("headers"), batch.num_rows),
        columns["topic"].to_pylist(),
        columns["partition"].to_pylist(),
        columns["offset"].to_pylist(),
        times_ms.to_pylist(),
        strict=True,
    ):
        pairs = tuple((header["key"], header["value"]) for header in row_headers or ())
        yield Record(key, value, pairs, topic, partition, offset, time_ms)


def _headers(column: pa.Array | None, rows: int) -> Iterable[Any]:
    if column is None or column.null_count == rows:
        return repeat(None, rows)
    headers: list[Any] = column.to_pylist()
    return headers


def _rows_for(job: StreamFunction, tables: Mapping[str, Any], record: Record) -> list[Row]:
    try:
        result = job.body(record, tables) if job.tables else job.body(record)
        return _bounded(_row(job.sink, output) for output in _outputs(result, record))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:REASON_CHARACTERS_MAX]
        if job.on_error is OnError.STOP:
            raise FunctionFailed(
                f"{job.name}, {record.topic}-{record.partition} offset {record.offset}: {reason}"
            ) from error
        return [_dead_letter(job, record, reason)]


def _outputs(result: Any, record: Record) -> Iterator[Record]:
    single = _single(result, record)
    if single is not NotImplemented:
        if single is not None:
            yield single
        return
    if not hasattr(result, "__iter__") or isinstance(result, dict):
        raise TypeError(f"the function returned {type(result).__name__}")
    for count, item in enumerate(result, 1):
        if count > RESULTS_PER_RECORD_MAX:
            raise OverflowError(f"more than {RESULTS_PER_RECORD_MAX} results of one record")
        single = _single(item, record)
        if single is NotImplemented:
            raise TypeError(f"the function returned {type(item).__name__} among its results")
        if single is not None:
            yield single


def _bounded(rows: Iterable[Row]) -> list[Row]:
    """All results of one record: they are in memory together."""
    kept: list[Row] = []
    size_bytes = 0
    for row in rows:
        kept.append(row)
        size_bytes += _size_bytes(row)
        if size_bytes > RESULT_BYTES_PER_RECORD_MAX:
            raise OverflowError(
                f"the results of one record have more than {RESULT_BYTES_PER_RECORD_MAX} bytes"
            )
    return kept


def _size_bytes(row: Row) -> int:
    """Nearly: headers are small, or the broker refuses the record."""
    return len(row[1] or b"") + len(row[2] or b"")


def _single(result: Any, record: Record) -> Any:
    """A record, None for nothing, ``NotImplemented`` for what may be many."""
    if result is None or result is False:
        return None
    if result is True:
        return record
    if isinstance(result, Record):
        return result
    if isinstance(result, str):
        return record._replace(value=result.encode())
    if isinstance(result, bytes):
        return record._replace(value=result)
    return NotImplemented


def _row(topic: str, record: Record) -> Row:
    """Checked here, where a wrong type can still be blamed on the record that brought it."""
    _raise_unless_bytes("key", record.key)
    _raise_unless_bytes("value", record.value)
    return topic, record.key, record.value, [_header(header) for header in record.headers]


def _header(header: Header) -> dict[str, Any]:
    name, value = header
    if not isinstance(name, str):
        raise TypeError(f"the name of a header is {type(name).__name__}, not str")
    name.encode()  # a text that is no Unicode is the record's fault, too
    _raise_unless_bytes(f"header {name}", value)
    return {"key": name, "value": value}


def _raise_unless_bytes(what: str, value: object) -> None:
    if value is not None and not isinstance(value, bytes):
        raise TypeError(f"the {what} of a result is {type(value).__name__}, not bytes")


def _dead_letter(job: StreamFunction, record: Record, reason: str) -> Row:
    """The record as it was, and in its headers why it is here and where it comes from."""
    notes = {
        "function": job.name,
        "reason": reason,
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
    }
    added = [
        (ERROR_HEADER_PREFIX + name, text.encode(errors="replace")) for name, text in notes.items()
    ]
    topic = job.dead_letter_topic_of(record.topic)
    return _row(topic, record._replace(headers=(*record.headers, *added)))


def _to_batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(column, kind.type) for column, kind in zip(columns, OUTPUT_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=OUTPUT_SCHEMA)
