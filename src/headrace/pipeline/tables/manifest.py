"""What is in a plain table: one immutable value per version, and its JSON.

Most versions say only what they change; every twentieth says everything, so that neither a commit
nor a reader has to handle the whole history. The bytes are described in
``docs/formats/plain_table.md``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.pipeline.tables.commit_rules import EMPTY_STATE, TableState
from headrace.pipeline.tables.data_file import DataFile
from headrace.pipeline.tables.errors import DamagedTable
from headrace.pipeline.tables.schemas import schema_from_text, schema_to_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

FORMAT = 1
FULL_EVERY = 20


class Partitioning(NamedTuple):
    """Fixed when the table is made."""

    columns: tuple[str, ...]
    bucket_ms: int | None


class Change(NamedTuple):
    """What one version does to the lists of files."""

    added: Sequence[DataFile] = ()
    parked: Sequence[DataFile] = ()
    retired: Sequence[str] = ()
    """No longer part of the table; kept for readers that have the older list."""
    forgotten: Sequence[str] = ()
    """Retired long ago: nobody needs them, they may be deleted."""


@dataclass(frozen=True)
class Manifest:
    """One version of a table."""

    partitioning: Partitioning
    version: int = 0
    base: int = 0
    """The last version that says everything; at most ``FULL_EVERY`` back."""
    state: TableState = EMPTY_STATE
    schema: pa.Schema | None = None
    files: dict[str, DataFile] = field(default_factory=dict)
    parked: dict[str, DataFile] = field(default_factory=dict)
    retired: dict[str, int] = field(default_factory=dict)
    """Time of retirement in ms, by path."""

    def apply(self, change: Change, now_ms: int) -> Manifest:
        """The lists after a change; version, state and schema are the caller's."""
        gone = set(change.retired)
        files = {path: file for path, file in self.files.items() if path not in gone}
        files.update((file.path, file) for file in change.added)
        retired = {**self.retired, **dict.fromkeys(change.retired, now_ms)}
        for path in change.forgotten:
            retired.pop(path, None)
        parked = {path: file for path, file in self.parked.items() if path not in gone}
        parked.update((file.path, file) for file in change.parked)
        return replace(self, files=files, parked=parked, retired=retired)


def encode(manifest: Manifest, change: Change, now_ms: int) -> bytes:
    """The file of a version: everything if it is its own base, else the change alone."""
    values: dict[str, Any] = {
        "format": FORMAT,
        "version": manifest.version,
        "base": manifest.base,
        "written_ms": now_ms,
        "partition_columns": list(manifest.partitioning.columns),
        "partition_bucket_ms": manifest.partitioning.bucket_ms,
        **manifest.state.to_values(),
        **_schema_values(manifest.schema),
    }
    if manifest.base == manifest.version:
        values["files"] = [_file_values(file) for file in manifest.files.values()]
        values["parked"] = [_file_values(file) for file in manifest.parked.values()]
        values["retired"] = manifest.retired
    else:
        values["added"] = [_file_values(file) for file in change.added]
        values["added_parked"] = [_file_values(file) for file in change.parked]
        values["newly_retired"] = list(change.retired)
        values["forgotten"] = list(change.forgotten)
    return json.dumps(values, indent=1).encode()


def decode(data: bytes, previous: Manifest | None, where: str) -> Manifest:
    """A version from its file and, unless it says everything, the version before."""
    try:
        values = json.loads(data)
        if values["format"] != FORMAT:
            raise DamagedTable(
                f"{where} has format {values['format']}; this Headrace knows {FORMAT}"
            )
        manifest = Manifest(
            partitioning=Partitioning(
                tuple(values["partition_columns"]), values["partition_bucket_ms"]
            ),
            version=values["version"],
            base=values["base"],
            state=TableState.from_values(values),
            schema=schema_from_text(values["schema"]) if values["schema"] else None,
        )
        if manifest.base == manifest.version:
            return replace(
                manifest,
                files=_files(values["files"]),
                parked=_files(values["parked"]),
                retired=values["retired"],
            )
        if previous is None:
            raise DamagedTable(f"{where} changes a version that is gone")
        change = Change(
            list(_files(values["added"]).values()),
            list(_files(values["added_parked"]).values()),
            values["newly_retired"],
            values["forgotten"],
        )
        lists = previous.apply(change, values["written_ms"])
        return replace(manifest, files=lists.files, parked=lists.parked, retired=lists.retired)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedTable(f"{where} is not a manifest: {error}") from error


def base_of(data: bytes, where: str) -> int:
    """The version that a reader has to begin with."""
    try:
        return int(json.loads(data)["base"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedTable(f"{where} is not a manifest: {error}") from error


def _schema_values(schema: pa.Schema | None) -> dict[str, Any]:
    if schema is None:
        return {"schema": "", "columns": []}
    return {
        "schema": schema_to_text(schema),
        "columns": [f"{each.name}: {each.type}" for each in schema],
    }


def _file_values(file: DataFile) -> dict[str, Any]:
    """Statistics are in the file's own footer; here they would be most of the bytes."""
    return file._replace(statistics="").to_values()


def _files(values: list[dict[str, Any]]) -> dict[str, DataFile]:
    files = [DataFile.from_values(each) for each in values]
    return {file.path: file for file in files}
