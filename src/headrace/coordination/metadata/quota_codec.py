"""Client quotas <-> the bytes of Kafka's ClientQuotaRecord (type 14).

A part of an entity without a name is the default of its kind. Kafka knows users, client ids and
addresses; records about anything else are left as they are (``is_known_entity``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.metadata.records import ClientQuotaRecord
from headrace.quotas.entities import CLIENT_ID, DEFAULT, IP, KINDS, USER, Default, QuotaEntity

if TYPE_CHECKING:
    from headrace.quotas.entities import Name
    from headrace.records.wire import Reader, Writer

_NO_VALUE = 0.0


def is_known_entity(reader: Reader) -> bool:
    """Looks at the beginning of the record: moves the reader."""
    return all(kind in KINDS for kind, _ in _read_parts(reader))


def read_client_quota(reader: Reader, version: int) -> ClientQuotaRecord:
    parts = dict(_read_parts(reader))
    name, value, is_removed = reader.compact_string(), reader.float64(), reader.boolean()
    reader.tagged_fields()
    entity = QuotaEntity(parts.get(USER), parts.get(CLIENT_ID), parts.get(IP))
    return ClientQuotaRecord(entity, name, None if is_removed else value)


def write_client_quota(writer: Writer, record: ClientQuotaRecord) -> None:
    def write_part(part: tuple[str, Name]) -> None:
        kind, name = part
        writer.compact_string(kind)
        writer.compact_string(None if isinstance(name, Default) else name)
        writer.tagged_fields()

    writer.compact_array(list(record.entity.parts().items()), write_part)
    value = _NO_VALUE if record.value is None else record.value
    writer.compact_string(record.name).float64(value).boolean(record.value is None)
    writer.tagged_fields()


def _read_parts(reader: Reader) -> list[tuple[str, Name]]:
    def read_part() -> tuple[str, Name]:
        kind, name = reader.compact_string(), reader.compact_nullable_string()
        reader.tagged_fields()
        return kind, DEFAULT if name is None else name

    return reader.compact_array(read_part)
