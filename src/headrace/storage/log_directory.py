"""Creating the directory of a log: the topic's id is written before any record can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.storage.checkpoints import partition_metadata
from headrace.storage.file_names import PARTITION_METADATA

if TYPE_CHECKING:
    from headrace.environment.ports import Disk
    from headrace.storage.log_port import LogSpec


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
