"""The marker that ends a transaction: a control batch with one record. Build it, read it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import CorruptRecord, HeadraceError
from headrace.records.build import build_batch
from headrace.records.decode import decode_records

if TYPE_CHECKING:
    from headrace.environment.ports import Buffer

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_ABORT = 0
_COMMIT = 1
_VERSION = 0
_MARKER_BYTES_MAX = 4096


class EndMarker(NamedTuple):
    """How a transaction ended, and in which term of its coordinator."""

    is_abort: bool
    coordinator_epoch: int


def build_end_marker(
    producer_id: int,
    producer_epoch: int,
    *,
    is_commit: bool,
    coordinator_epoch: int,
    timestamp_ms: int,
) -> bytearray:
    """A batch of one record, for each partition of the transaction; each needs a copy of its own,
    since a log writes its offset into it."""
    key = _KEY.pack(_VERSION, _COMMIT if is_commit else _ABORT)
    value = _VALUE.pack(_VERSION, coordinator_epoch)
    return build_batch(
        [(key, value)],
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_end_marker(batch: Buffer) -> EndMarker | None:
    """The marker in a control batch; None if it is empty (compacted away) or of another kind."""
    try:
        records = decode_records(batch, size_max=_MARKER_BYTES_MAX)
    except HeadraceError as error:
        raise CorruptRecord(f"a control batch cannot be read: {error.message}") from error
    if not records:
        return None
    key, value = records[0].key, records[0].value
    if key is None or len(key) < _KEY.size:
        raise CorruptRecord("a control record without a type")
    _, kind = _KEY.unpack_from(key)
    if kind not in (_ABORT, _COMMIT):
        return None
    if value is None or len(value) < _VALUE.size:
        raise CorruptRecord("an end-of-transaction marker without a coordinator epoch")
    _, coordinator_epoch = _VALUE.unpack_from(value)
    return EndMarker(kind == _ABORT, coordinator_epoch)
