"""Decisions about configurations: the records that turn one set of settings into another.

Whether a value is legal, and how an incremental change combines with what is there, is decided
before (``headrace.config``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.metadata.records import ConfigRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.coordination.metadata.state import ConfigResource


def decide_settings(
    resource: ConfigResource, current: Mapping[str, str], wanted: Mapping[str, str]
) -> list[MetadataRecord]:
    """What is no longer wanted goes, what differs is set; nothing when they are equal."""
    dropped = sorted(current.keys() - wanted.keys())
    records: list[MetadataRecord] = [
        ConfigRecord(resource.type, resource.name, name, None) for name in dropped
    ]
    records += (
        ConfigRecord(resource.type, resource.name, name, value)
        for name, value in sorted(wanted.items())
        if current.get(name) != value
    )
    return records
