"""Snapshot files of the metadata log: ``<end offset>-<epoch>.checkpoint``, in Kafka's format.

A snapshot is record batches with offsets of its own, between a header and a footer, both control
records. Without the footer it is not whole and does not count.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import CorruptRecord, DamagedLog, HeadraceError
from headrace.records.build import build_batch
from headrace.records.decode import decode_records
from headrace.records.header import batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.environment.ports import Disk
    from headrace.records.record import Record

CHECKPOINT_SUFFIX = ".checkpoint"
RECORDS_PER_BATCH_MAX = 1_000

_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint\Z")
_CONTROL_KEY = struct.Struct(">hh")
_CONTROL_KEY_VERSION = 0
_SNAPSHOT_HEADER, _SNAPSHOT_FOOTER = 3, 4
_HEADER_VALUE = struct.Struct(">hqB")
_FOOTER_VALUE = struct.Struct(">hB")


class Checkpoint(NamedTuple):
    """All of the log before ``end_offset``; ``epoch`` is that of the last record in it."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}{CHECKPOINT_SUFFIX}"


def checkpoints_among(names: Sequence[str]) -> list[Checkpoint]:
    """Oldest first. Parts of unfinished ones have other names and are not among them."""
    matches = (_NAME.match(name) for name in names)
    return sorted(Checkpoint(int(match[1]), int(match[2])) for match in matches if match)


def build_checkpoint(values: Sequence[bytes], epoch: int, timestamp_ms: int) -> bytearray:
    """The bytes of a whole snapshot file."""
    header = _HEADER_VALUE.pack(0, timestamp_ms, 0)
    data = _control_batch(_SNAPSHOT_HEADER, header, 0, epoch, timestamp_ms)
    offset = 1
    for start in range(0, len(values), RECORDS_PER_BATCH_MAX):
        part = [(None, value) for value in values[start : start + RECORDS_PER_BATCH_MAX]]
        data += build_batch(part, base_offset=offset, timestamp_ms=timestamp_ms, leader_epoch=epoch)
        offset += len(part)
    footer = _FOOTER_VALUE.pack(0, 0)
    return data + _control_batch(_SNAPSHOT_FOOTER, footer, offset, epoch, timestamp_ms)


def read_checkpoint(disk: Disk, path: str) -> list[bytes]:
    """The records' values; DamagedLog if the file is not whole."""
    try:
        values, is_whole = _read(disk.read_file(path))
    except CorruptRecord as error:
        raise DamagedLog(f"metadata snapshot {path} is damaged: {error}") from error
    if not is_whole:
        raise DamagedLog(f"metadata snapshot {path} ends before its footer")
    return values


def data_values(data: bytes, start: int, size: int) -> Iterator[Record]:
    """Records of one batch of the log or of a snapshot; CorruptRecord unless it is right."""
    try:
        yield from decode_records(data[start : start + size])
    except CorruptRecord:
        raise
    except HeadraceError as error:
        raise CorruptRecord(error.message) from error


def _read(data: bytes) -> tuple[list[bytes], bool]:
    values: list[bytes] = []
    is_whole = False
    for position, header in batches(data):
        for record in data_values(data, position, header.size_bytes):
            if header.is_control:
                is_whole = _control_type(record.key) == _SNAPSHOT_FOOTER
            elif record.value is not None:
                values.append(record.value)
    return values, is_whole


def _control_batch(
    control_type: int, value: bytes, offset: int, epoch: int, timestamp_ms: int
) -> bytearray:
    key = _CONTROL_KEY.pack(_CONTROL_KEY_VERSION, control_type)
    return build_batch(
        [(key, value)],
        base_offset=offset,
        timestamp_ms=timestamp_ms,
        leader_epoch=epoch,
        control=True,
    )


def _control_type(key: bytes | None) -> int:
    if key is None or len(key) < _CONTROL_KEY.size:
        raise CorruptRecord("a control record has no type")
    return int(_CONTROL_KEY.unpack_from(key)[1])
