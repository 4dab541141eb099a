"""Small text files in which Kafka keeps offsets, epochs and topic ids."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from headrace.model.errors import DamagedLog
from headrace.model.topic import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.environment.ports import Disk
    from headrace.model.topic import TopicId

_VERSION = "0"
CLEAN_SHUTDOWN_CONTENT = b'{"version":0,"brokerEpoch":-1}'


def write_offsets(disk: Disk, path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """``topic partition offset`` per line, after the version and the number of lines."""
    rows = (f"{key.topic} {key.partition} {offset}" for key, offset in offsets.items())
    _write_rows(disk, path, rows, sync=True)


def read_offsets(disk: Disk, path: str) -> dict[TopicPartition, int]:
    """What ``write_offsets`` wrote; empty if there is no file, DamagedLog if it makes no sense."""
    offsets: dict[TopicPartition, int] = {}
    for row in _read_rows(disk, path):
        topic, partition, offset = _fields(path, row, 3)
        offsets[TopicPartition(topic, _number(path, partition))] = _number(path, offset)
    return offsets


def write_stable_offsets(
    disk: Disk, path: str, offsets: Mapping[TopicPartition, tuple[int, int]]
) -> None:
    """``topic partition end stable`` per line: ends and last stable offsets at a clean stop."""
    rows = (f"{key.topic} {key.partition} {end} {stable}" for key, (end, stable) in offsets.items())
    _write_rows(disk, path, rows, sync=True)


def read_stable_offsets(disk: Disk, path: str) -> dict[TopicPartition, tuple[int, int]]:
    offsets: dict[TopicPartition, tuple[int, int]] = {}
    for row in _read_rows(disk, path):
        topic, partition, end, stable = _fields(path, row, 4)
        key = TopicPartition(topic, _number(path, partition))
        offsets[key] = (_number(path, end), _number(path, stable))
    return offsets


def write_epochs(disk: Disk, path: str, epochs: Iterable[tuple[int, int]], *, sync: bool) -> None:
    """``epoch start-offset`` per line."""
    _write_rows(disk, path, (f"{epoch} {start}" for epoch, start in epochs), sync=sync)


def read_epochs(disk: Disk, path: str) -> list[tuple[int, int]]:
    pairs = []
    for row in _read_rows(disk, path):
        epoch, start = _fields(path, row, 2)
        pairs.append((_number(path, epoch), _number(path, start)))
    return pairs


def write_single_offset(disk: Disk, path: str, offset: int) -> None:
    _write_rows(disk, path, (str(offset),), sync=True)


def read_single_offset(disk: Disk, path: str) -> int:
    rows = _read_rows(disk, path)
    if len(rows) != 1:
        raise DamagedLog(f"{path}: one line expected, {len(rows)} found")
    return _number(path, rows[0])


def partition_metadata(topic_id: TopicId) -> bytes:
    """The content of ``partition.metadata``: the id in Kafka's URL-safe form without padding."""
    text = base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()
    return f"version: {_VERSION}\ntopic_id: {text}".encode()


def read_partition_metadata(disk: Disk, path: str) -> TopicId:
    """The topic id; DamagedLog if the file makes no sense."""
    lines = dict(line.split(": ", 1) for line in _text(disk, path).splitlines() if ": " in line)
    try:
        topic_id = base64.urlsafe_b64decode(lines["topic_id"] + "==")
    except (KeyError, binascii.Error) as error:
        raise DamagedLog(f"{path}: no topic id in it") from error
    if lines.get("version") != _VERSION or len(topic_id) != 16:
        raise DamagedLog(f"{path}: not a partition's metadata")
    return topic_id


def _write_rows(disk: Disk, path: str, rows: Iterable[str], *, sync: bool) -> None:
    lines = list(rows)
    text = "\n".join([_VERSION, str(len(lines)), *lines]) + "\n"
    disk.replace_file(path, text.encode(), sync=sync)


def _read_rows(disk: Disk, path: str) -> list[str]:
    if not disk.exists(path):
        return []
    lines = _text(disk, path).splitlines()
    if len(lines) < 2 or lines[0] != _VERSION:
        raise DamagedLog(f"{path}: not a checkpoint of version {_VERSION}")
    rows = [line for line in lines[2:] if line]
    if _number(path, lines[1]) != len(rows):
        raise DamagedLog(f"{path}: announces {lines[1]} lines, has {len(rows)}")
    return rows


def _text(disk: Disk, path: str) -> str:
    try:
        return disk.read_file(path).decode()
    except UnicodeDecodeError as error:
        raise DamagedLog(f"{path}: not a text file") from error


def _fields(path: str, row: str, count: int) -> list[str]:
    fields = row.split(" ")
    if len(fields) != count:
        raise DamagedLog(f"{path}: {row!r} should have {count} fields")
    return fields


def _number(path: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise DamagedLog(f"{path}: {text!r} is no number") from error
