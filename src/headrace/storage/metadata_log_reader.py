"""Read a metadata log at start-up: the newest whole snapshot, then every batch behind it.

Nothing is served that a checksum does not vouch for. The end of the last file may be torn by a
crash: it is cut off, kept beside the file, and said. Damage anywhere else is not ours to mend.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.model.errors import CorruptRecord, DamagedLog
from headrace.records.header import batches
from headrace.storage.file_names import CUT_SUFFIX, LOG_SUFFIX, offsets_with, segment_file
from headrace.storage.metadata_checkpoint import (
    Checkpoint,
    checkpoints_among,
    data_values,
    read_checkpoint,
)

if TYPE_CHECKING:
    from headrace.environment.ports import Disk

FIRST_EPOCH = 1


@dataclass
class MetadataLogContents:
    """What was found: the values of all records in order, and where the next one goes."""

    values: list[bytes] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    next_offset: int = 0
    epoch: int = FIRST_EPOCH
    active_base_offset: int = 0
    active_size_bytes: int = 0
    size_bytes: int = 0
    """Of all log files that were read, without the snapshot."""
    snapshot_size_bytes: int = 0


def read_metadata_log(disk: Disk, directory: str) -> MetadataLogContents:
    contents = MetadataLogContents()
    names = disk.list(directory) if disk.exists(directory) else []
    _read_newest_checkpoint(disk, directory, checkpoints_among(names), contents)
    contents.active_base_offset = contents.next_offset
    segments = _segments_behind(offsets_with(names, LOG_SUFFIX), contents.next_offset, directory)
    for base_offset in segments:
        _read_segment(disk, directory, base_offset, base_offset == segments[-1], contents)
    return contents


def _read_newest_checkpoint(
    disk: Disk, directory: str, checkpoints: list[Checkpoint], contents: MetadataLogContents
) -> None:
    for checkpoint in reversed(checkpoints):
        path = f"{directory}/{checkpoint.file_name}"
        try:
            contents.values = read_checkpoint(disk, path)
        except DamagedLog as error:
            contents.notices.append(f"{error.message}: an older one is used")
            continue
        contents.next_offset = checkpoint.end_offset
        contents.epoch = checkpoint.epoch
        contents.snapshot_size_bytes = disk.size(path)
        return


def _segments_behind(base_offsets: list[int], start_offset: int, directory: str) -> list[int]:
    """The files that can hold ``start_offset`` and what follows it."""
    before = [offset for offset in base_offsets if offset <= start_offset]
    needed = before[-1:] + base_offsets[len(before) :]
    if needed and needed[0] > start_offset:
        raise DamagedLog(
            f"{directory}: the metadata log lacks the offsets {start_offset} to {needed[0] - 1}"
        )
    return needed


def _read_segment(
    disk: Disk, directory: str, base_offset: int, is_last: bool, contents: MetadataLogContents
) -> None:
    path = segment_file(directory, base_offset, LOG_SUFFIX)
    data = disk.read_file(path)
    end, fault = _read_batches(data, contents)
    if end < len(data):
        if not is_last:
            raise DamagedLog(f"{path} is damaged at byte {end} ({fault}), and more files follow it")
        _cut_tail(disk, path, data, end)
        contents.notices.append(
            f"{path}: {len(data) - end} bytes at its end were cut off ({fault}) "
            f"and kept in {path}{CUT_SUFFIX}"
        )
    contents.active_base_offset = base_offset
    contents.active_size_bytes = end
    contents.size_bytes += end


def _read_batches(data: bytes, contents: MetadataLogContents) -> tuple[int, str]:
    """Take over all batches up to the first fault; where it is, and what it is."""
    end = 0
    try:
        for position, header in batches(data):
            records = list(data_values(data, position, header.size_bytes))
            if header.last_offset >= contents.next_offset:
                if header.base_offset > contents.next_offset:
                    return end, f"offset {contents.next_offset} is missing"
                if not header.is_control:
                    contents.values += (
                        record.value
                        for record in records
                        if record.value is not None and record.offset >= contents.next_offset
                    )
                contents.next_offset = header.last_offset + 1
                contents.epoch = max(contents.epoch, header.leader_epoch)
            end = position + header.size_bytes
    except CorruptRecord as error:
        return end, error.message
    return end, "an unfinished write"


def _cut_tail(disk: Disk, path: str, data: bytes, end: int) -> None:
    disk.replace_file(f"{path}{CUT_SUFFIX}", data[end:])
    file = disk.open(path)
    try:
        file.truncate(end)
        file.sync()
    finally:
        file.close()
