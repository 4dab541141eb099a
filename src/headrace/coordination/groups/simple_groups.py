"""Simple groups: offsets without membership."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.classic_group import ClassicGroup

if TYPE_CHECKING:
    from headrace.coordination.groups.registry import GroupRegistry


def ensure_group(registry: GroupRegistry, group_id: str) -> None:
    """Offsets of nobody's make a group: empty, and of no protocol type."""
    if group_id not in registry.groups:
        registry.groups[group_id] = ClassicGroup(group_id, registry.deadlines)
