"""Whose a checkpoint is: a job refuses positions that were made for something else.

Beside Spark's files lies a marker with the job, the cluster, the topics and the target. A
checkpoint of another topic would make a job skip or repeat records without a word. A checkpoint at
a URL of an object store carries no marker; the table's own commits guard that case.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headrace.pipeline.errors import ForeignCheckpoint
from headrace.pipeline.tables.errors import refusals_named

if TYPE_CHECKING:
    from headrace.pipeline.jobs.definition import JobDefinition

MARKER = "headrace-job.json"
_UNFINISHED_SUFFIX = ".unfinished"


def checkpoint_identity(definition: JobDefinition, cluster_id: str) -> dict[str, str]:
    """What must be the same for positions to mean the same."""
    source, sink = definition.source, definition.sink
    return {
        "cluster": cluster_id,
        "topics": source.pattern or ",".join(sorted(source.topics)),
        "kind": definition.kind,
        "target": f"{sink.format} {sink.target}",
    }


def claim_checkpoint(location: str, identity: dict[str, str]) -> None:
    """Make the checkpoint this job's; ForeignCheckpoint if it is another's."""
    path = maybe_local_path(location)
    if path is None:
        return
    try:
        with refusals_named(f"the checkpoint {location}"):
            _claim(path, identity)
    except ValueError as error:
        raise ForeignCheckpoint(
            f"{path / MARKER} is damaged: {error}; choose another checkpoint"
        ) from error


def _claim(path: Path, identity: dict[str, str]) -> None:
    marker = path / MARKER
    unfinished = marker.with_suffix(_UNFINISHED_SUFFIX)
    if marker.exists():
        _raise_if_other(path, json.loads(marker.read_bytes()), identity)
        return
    # A marker that was not finished is of a job that ended in these very lines.
    if path.exists() and any(each != unfinished for each in path.iterdir()):
        raise ForeignCheckpoint(
            f"{path} is not empty, and no job of Headrace has left its mark there; choose another "
            "checkpoint"
        )
    path.mkdir(parents=True, exist_ok=True)
    unfinished.write_text(json.dumps(identity, indent=1))
    os.replace(unfinished, marker)


def _raise_if_other(path: Path, found: Any, identity: dict[str, str]) -> None:
    if not isinstance(found, dict):
        raise ValueError(f"expected an object, not {type(found).__name__}")
    differences = [
        f"{name} {found.get(name)!r}, not {value!r}"
        for name, value in identity.items()
        if found.get(name) != value
    ]
    if differences:
        raise ForeignCheckpoint(
            f"the checkpoint {path} belongs to {'; '.join(differences)}; give the job another "
            "name or another checkpoint"
        )


def maybe_local_path(location: str) -> Path | None:
    """The path of a plain path or a file URL; None for anything else."""
    parts = urlsplit(location)
    if parts.scheme == "file":
        return Path(parts.path)
    return None if len(parts.scheme) > 1 else Path(location)
