"""Who we are: cluster, node, directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.metadata.topics import Node
from headrace.storage.metadata_files import (
    MetaProperties,
    new_uuid,
    read_meta_properties,
    uuid_text,
    write_meta_properties,
)

if TYPE_CHECKING:
    from headrace.environment.ports import Chance, Disk


class ClusterInfo(NamedTuple):
    """The identity that a data directory has had since it was first used."""

    cluster_id: str
    node: Node
    is_new: bool

    @property
    def node_id(self) -> int:
        return self.node.id


def identify(disk: Disk, directory: str, chance: Chance, configured_node_id: int) -> ClusterInfo:
    """Read the directory's identity; a new directory gets one, with the configured node id."""
    known = read_meta_properties(disk, directory, chance)
    if known is not None:
        return ClusterInfo(known.cluster_id, Node(known.node_id, known.directory_id), False)
    disk.make_directory(directory)
    # All that will be promised is only as safe as the name of the directory that it is in.
    disk.sync_directory(directory.rpartition("/")[0] or ("/" if directory[:1] == "/" else "."))
    properties = MetaProperties(uuid_text(new_uuid(chance)), configured_node_id, new_uuid(chance))
    write_meta_properties(disk, directory, properties)
    node = Node(properties.node_id, properties.directory_id)
    return ClusterInfo(properties.cluster_id, node, True)
