"""Decisions about feature levels: what this broker can serve, and which changes are allowed.

A feature is a switch of the whole cluster that clients are told of; its level is a record of the
metadata log. The rules are Kafka's (KIP-584, KIP-778, KIP-1022): a change says whether it goes up
or down, several changes happen together or not at all, and ``metadata.version`` does not go back
past a level that brought new kinds of metadata.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.metadata.records import FeatureLevelRecord
from headrace.model.errors import InvalidFeatureLevel, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.coordination.metadata.records import MetadataRecord


class LevelRange(NamedTuple):
    """Levels from ``minimum`` to ``maximum``, both included."""

    minimum: int
    maximum: int

    def __contains__(self, level: object) -> bool:
        return isinstance(level, int) and self.minimum <= level <= self.maximum

    def __str__(self) -> str:
        return f"{self.minimum} to {self.maximum}"


class UpdateKind(IntEnum):
    """What the one who asks means to do; the numbers are Kafka's."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """A wish: this feature, that level."""

    name: str
    level: int
    kind: UpdateKind = UpdateKind.UPGRADE


METADATA_VERSION = "metadata.version"
GROUP_VERSION = "group.version"
TRANSACTION_VERSION = "transaction.version"
ELIGIBLE_LEADER_REPLICAS_VERSION = "eligible.leader.replicas.version"
KRAFT_VERSION = "kraft.version"

SUPPORTED: Mapping[str, LevelRange] = {
    # Kafka 3.3 to 4.3: directories of all of them are read.
    METADATA_VERSION: LevelRange(7, 30),
    # The groups of KIP-848 cannot be switched off here.
    GROUP_VERSION: LevelRange(1, 1),
    # 1 writes newer records, 2 is the protocol of KIP-890.
    TRANSACTION_VERSION: LevelRange(0, 2),
    # With one replica both levels mean the same (KIP-966).
    ELIGIBLE_LEADER_REPLICAS_VERSION: LevelRange(0, 1),
    # 1 would let voters come and go (KIP-853): the one voter is this node.
    KRAFT_VERSION: LevelRange(0, 0),
}

INITIAL_LEVELS: Mapping[str, int] = {
    METADATA_VERSION: 30,
    GROUP_VERSION: 1,
    TRANSACTION_VERSION: 2,
    ELIGIBLE_LEADER_REPLICAS_VERSION: 1,
}
"""Of a new directory, as Kafka 4.3 sets them."""

_METADATA_CHANGES = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30})
"""Levels of ``metadata.version`` that brought new records, or new fields in old ones."""

_METADATA_NEEDED = {ELIGIBLE_LEADER_REPLICAS_VERSION: 23}
"""The ``metadata.version`` that any level above 0 of a feature needs."""


def decide_feature_updates(
    current: Mapping[str, int], updates: Sequence[FeatureUpdate]
) -> list[MetadataRecord]:
    """The records of all that changes; InvalidFeatureLevel for the first wish that cannot be."""
    wanted = {update.name: update.level for update in updates}
    if len(wanted) < len(updates):
        raise InvalidRequest("a feature is named more than once")
    metadata_version = wanted.get(METADATA_VERSION, current.get(METADATA_VERSION, 0))
    for update in updates:
        _raise_if_refused(current.get(update.name, 0), update, metadata_version)
    return [
        FeatureLevelRecord(name, level)
        for name, level in wanted.items()
        if level != current.get(name, 0)
    ]


def _raise_if_refused(current: int, update: FeatureUpdate, metadata_version: int) -> None:
    reason = (
        _unsupported_reason(update)
        or _direction_reason(current, update)
        or _metadata_reason(current, update, metadata_version)
    )
    if reason is not None:
        raise InvalidFeatureLevel(f"{update.name} cannot be set to {update.level}: {reason}")


def _unsupported_reason(update: FeatureUpdate) -> str | None:
    supported = SUPPORTED.get(update.name)
    if supported is None:
        return "this broker does not know the feature"
    if update.level not in supported:
        return f"this broker serves levels {supported}"
    return None


def _direction_reason(current: int, update: FeatureUpdate) -> str | None:
    is_upgrade = update.kind is UpdateKind.UPGRADE
    if update.level < current and is_upgrade:
        return f"it is at {current}, and a downgrade was not asked for"
    if update.level > current and not is_upgrade:
        return f"it is at {current}, so this is no downgrade"
    return None


def _metadata_reason(current: int, update: FeatureUpdate, metadata_version: int) -> str | None:
    if update.name == METADATA_VERSION:
        lost = [level for level in _METADATA_CHANGES if update.level < level <= current]
        return f"metadata of level {max(lost)} could be lost" if lost else None
    needed = _METADATA_NEEDED.get(update.name, SUPPORTED[METADATA_VERSION].minimum)
    if update.level > 0 and metadata_version < needed:
        return f"it needs {METADATA_VERSION} {needed} or higher"
    return None
