"""Where a task writes its files, and how it describes them. Goes to the tasks: plain values only.

Each file gets a random token into its name. Attempts of one task, also forgotten ones that wake up
after the batch was committed, therefore never write to the same file, and never to one that readers
have. Which of them counts is decided by the commit alone.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyarrow import fs

from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.tables.data_file import DataFile
from headrace.pipeline.tables.errors import refusals_named
from headrace.pipeline.tables.file_names import (
    BUCKETS_MS,
    PARTITION_COLUMNS,
    calendar_values,
    data_file_name,
)
from headrace.pipeline.tables.file_options import COMPRESSION
from headrace.pipeline.tables.statistics import delta_statistics, timestamp_bounds_ms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow.parquet as pq

TOKEN_CHARACTERS = 12


class NewFile(NamedTuple):
    """A name that nobody else has been given."""

    path: str
    url: str
    ranges: tuple[OffsetRange, ...]
    partition_values: dict[str, str]


class FileLayout(NamedTuple):
    """The places of one table's files."""

    root: str
    """A local path, or a URL of an object store."""
    data_directory: str
    parked_directory: str
    suffix: str = ".parquet"
    columns: tuple[str, ...] = PARTITION_COLUMNS
    bucket_ms: int | None = BUCKETS_MS["hour"]
    needs_calendar: bool = False
    """Whether times before the year 1 or after the year 9999 cannot be in the table's files."""
    compression: str = COMPRESSION

    def partition_values(self, timestamp_ms: int | None) -> dict[str, str]:
        return calendar_values(timestamp_ms, self.columns)

    def new_file(
        self, ranges: OffsetRange | Sequence[OffsetRange], partition_values: Mapping[str, str]
    ) -> NewFile:
        return self._new(self.data_directory, "records", ranges, partition_values)

    def new_parked_file(self, ranges: OffsetRange | Sequence[OffsetRange]) -> NewFile:
        return self._new(self.parked_directory, "parked", ranges, {})

    def new_merged_file(self, first_path: str, sources: Sequence[str]) -> NewFile:
        """Beside the first source, for formats that do not keep the offsets of their files."""
        digest = hashlib.sha256(repr(sorted(sources)).encode()).hexdigest()[:24]
        name = f"records-{len(sources)}.files-{digest}-{_token()}{self.suffix}"
        path = "/".join(filter(None, (os.path.dirname(first_path), name)))
        return NewFile(path, self.url_of(path), (), {})

    def open(self, new_file: NewFile) -> pa.NativeFile:
        """An output stream; the file is complete once it is closed."""
        with refusals_named(self.root):
            if self.is_local:
                os.makedirs(os.path.dirname(new_file.url), exist_ok=True)
                return pa.OSFile(new_file.url, "wb")
            file_system, path = fs.FileSystem.from_uri(new_file.url)
            return file_system.open_output_stream(path)

    def discard(self, *paths: str) -> None:
        """Remove files that no commit will ever name. What cannot be removed is cleared away later,
        when it is old enough.
        """
        for path in paths:
            with suppress(OSError):
                if self.is_local:
                    os.unlink(self.url_of(path))
                else:
                    file_system, place = fs.FileSystem.from_uri(self.url_of(path))
                    file_system.delete_file(place)

    def describe(self, new_file: NewFile, metadata: pq.FileMetaData) -> DataFile:
        """What the commit has to know of a closed file."""
        oldest, newest = timestamp_bounds_ms(metadata)
        return DataFile(
            path=new_file.path,
            rows=metadata.num_rows,
            size_bytes=self._size_bytes(new_file.url),
            partition_values=new_file.partition_values,
            ranges=new_file.ranges,
            timestamp_ms_min=oldest,
            timestamp_ms_max=newest,
            statistics=delta_statistics(metadata),
        )

    @property
    def is_local(self) -> bool:
        return "://" not in self.root

    def url_of(self, path: str) -> str:
        return f"{self.root}/{path}"

    def _new(
        self,
        directory: str,
        prefix: str,
        ranges: OffsetRange | Sequence[OffsetRange],
        partition_values: Mapping[str, str],
    ) -> NewFile:
        ranges = (ranges,) if isinstance(ranges, OffsetRange) else tuple(ranges)
        name = data_file_name(ranges, partition_values, prefix).removesuffix(".parquet")
        path = "/".join(filter(None, (directory, f"{name}-{_token()}{self.suffix}")))
        return NewFile(path, self.url_of(path), ranges, dict(partition_values))

    def _size_bytes(self, url: str) -> int:
        if self.is_local:
            return os.stat(url).st_size
        file_system, path = fs.FileSystem.from_uri(url)
        return int(file_system.get_file_info(path).size)


def _token() -> str:
    return uuid.uuid4().hex[:TOKEN_CHARACTERS]


def table_root(url: str) -> str:
    """A local table is known by its absolute path, whatever way it was written."""
    url = url.removeprefix("file://")
    return url.rstrip("/") if "://" in url else os.path.abspath(os.path.expanduser(url))
