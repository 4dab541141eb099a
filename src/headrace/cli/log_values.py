"""What ``headrace log dump`` prints for each value that a file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.cli.record_lines import bytes_field, header_fields
from headrace.cli.times import format_time_ms
from headrace.records.compression import Compression
from headrace.storage.inspect import BatchValue, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.records.header import BatchHeader
    from headrace.records.record import Record
    from headrace.storage.inspect import Value

Fields = dict[str, object]

_COMPRESSION_NAMES = {int(codec): codec.name.lower() for codec in Compression}


def json_fields(value: Value) -> Fields:
    """Everything about a value, for one JSON line."""
    if not isinstance(value, BatchValue):
        return {"type": _type_name(value), **value._asdict()}
    fields = {"type": "batch", "position": value.position, **_header_fields(value.header)}
    fields |= {"crc_is_valid": value.crc_is_valid, "problem": value.problem}
    if value.records:
        fields["records"] = [_record_fields(record) for record in value.records]
    return fields


def text_lines(value: Value) -> Iterator[str]:
    """The same for people: a line for the value, further ones for its records."""
    if isinstance(value, Unreadable):
        where = "" if value.position < 0 else f" at byte {value.position}"
        yield f"  {'torn tail' if value.is_tail else 'UNREADABLE'}{where}: {value.problem}"
        return
    fields = json_fields(value)
    fields.pop("records", None)
    kind = fields.pop("type")
    shown = " ".join(f"{name}={content}" for name, content in fields.items() if content is not None)
    yield f"  {kind} {shown}"
    if isinstance(value, BatchValue):
        for record in value.records:
            yield f"    record {_record_text(record)}"


def _header_fields(header: BatchHeader) -> Fields:
    return {
        "base_offset": header.base_offset,
        "last_offset": header.last_offset,
        "records_count": header.record_count,
        "size_bytes": header.size_bytes,
        "leader_epoch": header.leader_epoch,
        "compression": _COMPRESSION_NAMES.get(header.compression, str(header.compression)),
        "timestamp_type": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "base_timestamp_ms": header.base_timestamp,
        "max_timestamp_ms": header.max_timestamp,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "is_transactional": header.is_transactional,
        "is_control": header.is_control,
    }


def _record_fields(record: Record) -> Fields:
    return {
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        **bytes_field("key", record.key),
        **bytes_field("value", record.value),
        "headers": header_fields([(header.key, header.value) for header in record.headers]),
    }


def _record_text(record: Record) -> str:
    fields = _record_fields(record)
    fields["timestamp"] = format_time_ms(record.timestamp_ms)
    del fields["timestamp_ms"]
    if not record.headers:
        del fields["headers"]
    return " ".join(f"{name}={content!r}" for name, content in fields.items())


def _type_name(value: Value) -> str:
    """OffsetValue is an offset entry, PartitionOffsetValue a partition-offset entry."""
    name = type(value).__name__.removesuffix("Value")
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
