"""The marker that ends a transaction: a control batch with one record. Build it, read it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import CorruptRecord, HeadraceError
from headrace.records.build import build_batch
from headrace.records.decode import decode_records
from headrace.records.header import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    HEADER_SIZE,
    LEADER_EPOCH_POSITION,
    LENGTH_POSITION,
    MAGIC,
    MAGIC_POSITION,
    crc_is_valid,
    stamp_crc,
)

if TYPE_CHECKING:
    from headrace.environment.ports import Buffer

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")
_ABORT = 0
_COMMIT = 1
_VERSION = 0
_MARKER_BYTES_MAX = 4096

# All markers that we write are alike but for some fields of fixed size.
_TEMPLATE = bytes(
    build_batch(
        [(_KEY.pack(_VERSION, _COMMIT), _VALUE.pack(_VERSION, 0x11223344))],
        timestamp_ms=0,
        producer_id=0,
        producer_epoch=0,
        transactional=True,
        control=True,
    )
)
_SIZE = len(_TEMPLATE)
_TIMES_AND_PRODUCER = struct.Struct(">qqqh")
_TIMES_POSITION = 27
_KEY_POSITION = _TEMPLATE.index(_KEY.pack(_VERSION, _COMMIT), HEADER_SIZE)
_VALUE_POSITION = _TEMPLATE.index(_VALUE.pack(_VERSION, 0x11223344), HEADER_SIZE)
_COUNT_POSITION = HEADER_SIZE - 4
_BEFORE_KEY = _TEMPLATE[_COUNT_POSITION:_KEY_POSITION]
_KEY_END = _KEY_POSITION + _KEY.size
_BETWEEN = _TEMPLATE[_KEY_END:_VALUE_POSITION]
_LENGTH = _TEMPLATE[LENGTH_POSITION:LEADER_EPOCH_POSITION]
_ATTRIBUTES_LOW_BYTE = ATTRIBUTES_POSITION + 1


class EndMarker(NamedTuple):
    """How a transaction ended, and in which term of its coordinator."""

    is_abort: bool
    coordinator_epoch: int


class EndMarkerBatch(bytearray):
    """A marker of our own making, which says what is in it: whoever writes it to a log need not
    take it apart again."""

    __slots__ = ("marker",)

    marker: EndMarker

    def copy(self) -> EndMarkerBatch:
        another = EndMarkerBatch(self)
        another.marker = self.marker
        return another


def build_end_marker(
    producer_id: int,
    producer_epoch: int,
    *,
    is_commit: bool,
    coordinator_epoch: int,
    timestamp_ms: int,
) -> EndMarkerBatch:
    """A batch of one record, for each partition of the transaction; each needs a copy of its own,
    since a log writes its offset into it."""
    batch = EndMarkerBatch(_TEMPLATE)
    batch.marker = EndMarker(not is_commit, coordinator_epoch)
    _TIMES_AND_PRODUCER.pack_into(
        batch, _TIMES_POSITION, timestamp_ms, timestamp_ms, producer_id, producer_epoch
    )
    _KEY.pack_into(batch, _KEY_POSITION, _VERSION, _COMMIT if is_commit else _ABORT)
    _VALUE.pack_into(batch, _VALUE_POSITION, _VERSION, coordinator_epoch)
    stamp_crc(batch, 0, len(batch))
    return batch


def read_end_marker(batch: Buffer) -> EndMarker | None:
    """The marker in a control batch; None if it is empty (compacted away) or of another kind."""
    if type(batch) is EndMarkerBatch:
        return batch.marker
    if _is_like_ours(batch):
        _, kind = _KEY.unpack_from(batch, _KEY_POSITION)
        if kind in (_ABORT, _COMMIT):
            _, coordinator_epoch = _VALUE.unpack_from(batch, _VALUE_POSITION)
            return EndMarker(kind == _ABORT, coordinator_epoch)
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


def _is_like_ours(batch: Buffer) -> bool:
    """Whether the marker lies where we would write it; such a one need not be taken apart."""
    return (
        len(batch) == _SIZE
        and batch[_COUNT_POSITION:_KEY_POSITION] == _BEFORE_KEY
        and batch[_KEY_END:_VALUE_POSITION] == _BETWEEN
        and batch[_SIZE - 1] == _TEMPLATE[-1]
        and not batch[_ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK
        and batch[MAGIC_POSITION] == MAGIC
        and batch[LENGTH_POSITION:LEADER_EPOCH_POSITION] == _LENGTH
        and crc_is_valid(batch, 0, _SIZE)
    )
