"""``meta.properties``: whose directory this is, as Kafka 4 writes it.

The identifiers are those of the cluster, the node and the directory. They are written once and
never change; a directory that Kafka formatted keeps the ones it has.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from headrace.environment.ports import Chance, Disk

META_PROPERTIES = "meta.properties"
FORMAT_VERSION = "1"
UUID_TEXT_LENGTH = 22
META_PROPERTIES_SIZE_MAX = 65_536
NODE_ID_MAX = 2**31 - 1


class MetaProperties(NamedTuple):
    """The identity of a data directory."""

    cluster_id: str
    node_id: int
    directory_id: bytes


def new_uuid(chance: Chance) -> bytes:
    """A random UUID (version 4) whose text does not begin with '-', which tools take for a flag."""
    while True:
        data = bytearray(chance.random_bytes(16))
        data[6] = data[6] & 0x0F | 0x40
        data[8] = data[8] & 0x3F | 0x80
        if not uuid_text(bytes(data)).startswith("-"):
            return bytes(data)


def uuid_text(uuid: bytes) -> str:
    """22 characters of URL-safe base 64, as Kafka spells ids."""
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")


def uuid_from_text(text: str) -> bytes:
    """The other way round; ValueError if it is no such text."""
    if len(text) != UUID_TEXT_LENGTH:
        raise ValueError(f"{text!r} is not {UUID_TEXT_LENGTH} characters long")
    try:
        return base64.b64decode(text + "==", altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text!r} is not base 64") from error


def read_meta_properties(disk: Disk, directory: str, chance: Chance) -> MetaProperties | None:
    """None for a new directory. A missing directory id (Kafka before 3.7) is chosen and written."""
    path = f"{directory}/{META_PROPERTIES}"
    if not disk.exists(path):
        return None
    if disk.size(path) > META_PROPERTIES_SIZE_MAX:
        raise InvalidConfig(f"{path} is larger than {META_PROPERTIES_SIZE_MAX} bytes")
    values = parse_properties(disk.read_file(path).decode(errors="replace"))
    if values.get("version") != FORMAT_VERSION:
        raise InvalidConfig(
            f"{path}: version {values.get('version')!r} is not {FORMAT_VERSION}: "
            "only directories of Kafka in KRaft mode can be taken over"
        )
    try:
        cluster_id, node_id = values["cluster.id"], int(values["node.id"])
        maybe_directory_id = values.get("directory.id")
        directory_id = uuid_from_text(maybe_directory_id) if maybe_directory_id else b""
    except (KeyError, ValueError) as error:
        raise InvalidConfig(f"{path}: missing or illegal: {error}") from error
    if not 0 <= node_id <= NODE_ID_MAX:
        raise InvalidConfig(f"{path}: node.id={node_id} is outside of 0..{NODE_ID_MAX}")
    if directory_id:
        return MetaProperties(cluster_id, node_id, directory_id)
    properties = MetaProperties(cluster_id, node_id, new_uuid(chance))
    write_meta_properties(disk, directory, properties)
    return properties


def write_meta_properties(disk: Disk, directory: str, properties: MetaProperties) -> None:
    text = (
        f"cluster.id={properties.cluster_id}\n"
        f"directory.id={uuid_text(properties.directory_id)}\n"
        f"node.id={properties.node_id}\n"
        f"version={FORMAT_VERSION}\n"
    )
    disk.replace_file(f"{directory}/{META_PROPERTIES}", text.encode())


def parse_properties(text: str) -> dict[str, str]:
    """Java's properties as these files use them: no continuation lines, no unicode escapes."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            name, _, value = stripped.partition("=")
            values[name.strip()] = value.strip().replace("\\", "")
    return values
