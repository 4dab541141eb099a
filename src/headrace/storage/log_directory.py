"""The directory of a log: made with the topic's id before any record, or set aside as another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.storage.checkpoints import partition_metadata
from headrace.storage.file_names import PARTITION_METADATA, STRAY_DIRECTORY_SUFFIX

if TYPE_CHECKING:
    from headrace.environment.ports import Disk
    from headrace.storage.log_port import LogSpec

DIRECTORY_NAME_MAX = 255


def set_aside_directory(disk: Disk, data_directory: str, spec: LogSpec) -> str:
    """Make room for a log whose name another topic's directory has; the new name of that one."""
    tail = f"-{spec.partition.partition}.{spec.topic_id.hex()}{STRAY_DIRECTORY_SUFFIX}"
    name = spec.partition.topic[: DIRECTORY_NAME_MAX - len(tail)] + tail
    disk.rename(f"{data_directory}/{spec.partition}", f"{data_directory}/{name}")
    return name


def create_directory(disk: Disk, directory: str, spec: LogSpec) -> None:
    """With durability=fsync it is on the medium when this returns.

    Otherwise the file is simply written: what a crash leaves of it, recovery writes anew.
    """
    disk.make_directory(directory)
    path = f"{directory}/{PARTITION_METADATA}"
    metadata = partition_metadata(spec.topic_id)
    if spec.config.durability == "fsync":
        disk.replace_file(path, metadata)
        disk.sync_directory(directory.rsplit("/", 1)[0])
    else:
        file = disk.open(path, create=True)
        file.write_at(0, metadata)
        file.close()
