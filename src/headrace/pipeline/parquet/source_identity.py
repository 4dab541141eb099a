"""Whose offsets a table's positions are: ids of the cluster and of the topics, in the checkpoint.

A topic that was deleted and made anew has the same name and other records; only its id tells. This
is a guard, not a truth: without it positions still come from the table.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from headrace.pipeline.errors import ForeignCheckpoint, TargetNotWritable

FILE_NAME = "parquet-source.json"


class SourceIdentity(NamedTuple):
    """Empty where it is not known."""

    cluster_id: str
    topic_ids: dict[str, str]


NOBODY = SourceIdentity("", {})


def load_identity(checkpoint: str) -> SourceIdentity:
    path = _path(checkpoint)
    if path is None:
        return NOBODY
    try:
        content = json.loads(path.read_bytes())
        return SourceIdentity(str(content["cluster"]), dict(content["topics"]))
    except FileNotFoundError:
        return NOBODY
    except OSError as error:
        raise TargetNotWritable(f"the checkpoint {checkpoint}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ForeignCheckpoint(f"{path} is damaged: {error}") from error


def save_identity(checkpoint: str, identity: SourceIdentity) -> None:
    """At once or not at all."""
    path = _path(checkpoint)
    if path is None:
        return
    content = json.dumps({"cluster": identity.cluster_id, "topics": identity.topic_ids})
    unfinished = path.with_suffix(".unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise TargetNotWritable(f"the checkpoint {checkpoint}: {error.strerror}") from error


def _path(checkpoint: str) -> Path | None:
    """None where there is no directory of this machine to keep it in."""
    local = checkpoint.removeprefix("file://")
    return Path(local) / FILE_NAME if local and "://" not in local else None
