"""Rows that wait for their transaction: written by tasks, read by the driver, then removed.

A task cannot take part in the driver's transaction, so it puts its rows aside as Arrow streams. A
small piece travels inside the commit message; a larger one is a file in the staging directory:

    <staging directory>/<id of the query or of the job>/<batch id>/<name>.arrow

Every attempt of a task has a name of its own. Which attempt counts is decided by Spark, by whose
message it hands to the driver; what the others left is removed with the directory of the batch.
"""

from __future__ import annotations

import errno
import logging
import os
import posixpath
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyarrow import fs

from headrace.pipeline.errors import TargetFull, TargetNotWritable
from headrace.pipeline.sink.columns import STAGED_SCHEMA, to_staged, topics_of
from headrace.pipeline.sink.errors import StagedRowsMissing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

log = logging.getLogger(__name__)

NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
# What pyarrow raises for a place that is not there, not allowed, or of a kind it does not know.
PLACE_ERRORS = (OSError, pa.ArrowException)
# A job that was killed leaves its directory behind; nobody waits for it that long.
ORPHAN_AGE_SECONDS = 7 * 24 * 3600
_OWNER = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class StagedPiece(NamedTuple):
    """The rows of one task. They are in ``data``, or else in the file ``url``."""

    rows: int
    topics: dict[str, int]
    data: bytes | None
    url: str | None


def stage(
    batches: Iterable[pa.RecordBatch], topic: str | None, url: str, inline_bytes: int
) -> StagedPiece:
    """Put all rows aside, checked. ``url`` is only created if they do not fit ``inline_bytes``."""
    rows = 0
    topics: dict[str, int] = {}
    waiting: list[pa.RecordBatch] = []
    waiting_bytes = 0
    source = iter(batches)
    for batch in source:
        staged = to_staged(batch, topic)
        rows += _count(staged, topics)
        waiting.append(staged)
        waiting_bytes += staged.nbytes
        if waiting_bytes > inline_bytes:
            break
    else:
        return StagedPiece(rows, topics, _to_bytes(waiting) if rows else b"", None)
    with StagedFile(url) as file:
        while waiting:
            file.write(waiting.pop(0))
        for batch in source:
            staged = to_staged(batch, topic)
            rows += _count(staged, topics)
            file.write(staged)
    return StagedPiece(rows, topics, None, url)


def _count(staged: pa.RecordBatch, topics: dict[str, int]) -> int:
    for topic, partition in topics_of(staged).items():
        topics[topic] = max(partition, topics.get(topic, partition))
    return int(staged.num_rows)


def _stream(sink: pa.NativeFile) -> pa.RecordBatchStreamWriter:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    return pa.ipc.new_stream(sink, STAGED_SCHEMA, options=options)


def _to_bytes(batches: Iterable[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with _stream(sink) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def read_piece(piece: StagedPiece) -> Iterator[pa.RecordBatch]:
    """The rows of a piece, all of them: raises ``StagedRowsMissing`` otherwise."""
    if piece.rows == 0:
        return
    found = 0
    for batch in _read_batches(piece):
        found += batch.num_rows
        yield batch
    if found != piece.rows:
        raise StagedRowsMissing(f"{_name(piece)} holds {found} rows instead of {piece.rows}")


def _read_batches(piece: StagedPiece) -> Iterator[pa.RecordBatch]:
    try:
        source = _open_input(piece)
        with source, pa.ipc.open_stream(source) as reader:
            yield from reader
    except PLACE_ERRORS as error:
        raise StagedRowsMissing(
            f"the driver cannot read {_name(piece)}: {error}; headrace.staging.location must be"
            " a place that the driver and all executors share"
        ) from error


def _open_input(piece: StagedPiece) -> pa.NativeFile:
    if piece.url is None:
        return pa.BufferReader(piece.data or b"")
    filesystem, path = file_system(piece.url)
    return filesystem.open_input_stream(path)


def _name(piece: StagedPiece) -> str:
    return piece.url if piece.url is not None else "a commit message"


class StagedFile:
    """A file of staged rows that is being written; its trouble has the names of a target's."""

    def __init__(self, url: str) -> None:
        self._url = url
        with self._named_errors():
            filesystem, path = file_system(url)
            filesystem.create_dir(posixpath.dirname(path), recursive=True)
            self._sink = filesystem.open_output_stream(path)
            self._writer = _stream(self._sink)

    def write(self, batch: pa.RecordBatch) -> None:
        with self._named_errors():
            self._writer.write_batch(batch)

    def __enter__(self) -> StagedFile:
        return self

    def __exit__(self, *_: object) -> None:
        with self._named_errors():
            self._writer.close()
            self._sink.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except PLACE_ERRORS as error:
            is_full = getattr(error, "errno", None) in NO_SPACE
            kind = TargetFull if is_full else TargetNotWritable
            raise kind(f"rows cannot be put aside at {self._url}: {error}") from error


def file_system(url: str) -> tuple[fs.FileSystem, str]:
    """Of a URL or of a plain path, in the spellings that Spark takes for a checkpoint."""
    if "://" in url:
        known = "s3://" + url.removeprefix("s3a://") if url.startswith("s3a://") else url
        return fs.FileSystem.from_uri(known)  # type: ignore[no-any-return]
    return fs.LocalFileSystem(), os.path.abspath(url.removeprefix("file:"))


def remove_pieces(pieces: Iterable[StagedPiece]) -> None:
    """Remove the files of pieces that nobody will read."""
    for url in [piece.url for piece in pieces if piece.url is not None]:
        with _tidying(url):
            filesystem, path = file_system(url)
            filesystem.delete_file(path)


def remove_batches(owner_url: str, last_batch_id: int) -> None:
    """Remove what is staged of batches up to this one, files of failed attempts included."""
    with _tidying(owner_url):
        filesystem, path = file_system(owner_url)
        for entry in _directories(filesystem, path):
            if entry.base_name.isdecimal() and int(entry.base_name) <= last_batch_id:
                filesystem.delete_dir(entry.path)


def remove_directory(url: str) -> None:
    """Remove all that one owner has staged, and its directory."""
    with _tidying(url):
        filesystem, path = file_system(url)
        if filesystem.get_file_info(path).type is fs.FileType.Directory:
            filesystem.delete_dir(path)


def remove_orphans(staging_url: str, now_s: float | None = None) -> None:
    """Remove what queries and jobs left that ended long ago without a word.

    In an object store directories have no age, and nothing is removed.
    """
    oldest_s = (time.time() if now_s is None else now_s) - ORPHAN_AGE_SECONDS
    with _tidying(staging_url):
        filesystem, path = file_system(staging_url)
        for entry in _directories(filesystem, path):
            is_old = entry.mtime is not None and entry.mtime.timestamp() < oldest_s
            if is_old and _OWNER.fullmatch(entry.base_name):
                filesystem.delete_dir(entry.path)


def _directories(filesystem: fs.FileSystem, path: str) -> list[fs.FileInfo]:
    found = filesystem.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return [entry for entry in found if entry.type is fs.FileType.Directory]


@contextmanager
def _tidying(url: str) -> Iterator[None]:
    """What is to be removed is of no use to anybody: a batch must not fail because it stays."""
    try:
        yield
    except PLACE_ERRORS as error:
        # A late attempt may be writing here, for example. The next batch tries again.
        log.info("staged rows below %s are not removed yet: %s", url, error)
