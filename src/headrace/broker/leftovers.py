"""Directories that do not fit the metadata, looked for at start.

A crash between the record of a deletion and the deletion itself leaves a topic's directories
behind: those are finished off. What no record explains is left alone and told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.model.topic import CLUSTER_METADATA_TOPIC
from headrace.storage.file_names import PARTITION_METADATA
from headrace.storage.metadata_files import uuid_from_text, uuid_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.coordination.metadata.state import MetadataState
    from headrace.environment.ports import Disk
    from headrace.model.topic import TopicId

NAMES_SHOWN_MAX = 5
FILE_NAME_LENGTH_MAX = 255
STRAY_SUFFIX = "-stray"

_PARTITION_DIRECTORY = re.compile(r"([a-zA-Z0-9._-]+)-(\d+)\Z")


def clear_leftovers(
    disk: Disk, directory: str, state: MetadataState, removed: Mapping[TopicId, str]
) -> list[str]:
    """Finish half-made deletions; sentences about what was found."""
    finished, strays, unknown = [], [], []
    removed_names = set(removed.values())
    for name in disk.list(directory):
        match = _PARTITION_DIRECTORY.match(name)
        if match is None or match[1] == CLUSTER_METADATA_TOPIC:
            continue
        topic = state.topic(match[1])
        is_known = topic is not None and int(match[2]) in topic.partitions
        if (is_known and match[1] not in removed_names) or not disk.is_directory(
            f"{directory}/{name}"
        ):
            continue
        topic_id = _topic_id_of(disk, f"{directory}/{name}")
        if topic_id is not None and topic_id in removed:
            disk.remove_tree(f"{directory}/{name}")
            finished.append(name)
        elif not is_known:
            unknown.append(name)
        elif topic is not None and topic_id is not None and topic_id != topic.id:
            _set_aside(disk, directory, name, topic_id)
            strays.append(name)
    return [
        f"{sentence}: {_listed(names)}"
        for names, sentence in (
            (finished, "deletion was finished of"),
            (
                strays,
                f"directories of another topic with the same name were renamed *{STRAY_SUFFIX}",
            ),
            (unknown, "directories that belong to no topic are left alone"),
        )
        if names
    ]


def _topic_id_of(disk: Disk, path: str) -> TopicId | None:
    """What ``partition.metadata`` says; None if it says nothing."""
    file = f"{path}/{PARTITION_METADATA}"
    if not disk.exists(file):
        return None
    for line in disk.read_file(file).decode(errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "topic_id":
            try:
                return uuid_from_text(value.strip())
            except ValueError:
                return None
    return None


def _set_aside(disk: Disk, directory: str, name: str, topic_id: TopicId) -> None:
    suffix = f".{uuid_text(topic_id)}{STRAY_SUFFIX}"
    target = name[: FILE_NAME_LENGTH_MAX - len(suffix)] + suffix
    disk.rename(f"{directory}/{name}", f"{directory}/{target}")


def _listed(names: list[str]) -> str:
    more = len(names) - NAMES_SHOWN_MAX
    shown = ", ".join(names[:NAMES_SHOWN_MAX])
    return f"{shown} and {more} more" if more > 0 else shown
