"""The levels of the cluster's features: what clients are told, and the one door to change them.

A level takes effect with the record that sets it. Whoever acts on one asks ``level`` each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.metadata.features import SUPPORTED, decide_feature_updates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.broker.metadata_store import MetadataStore
    from headrace.coordination.metadata.features import FeatureUpdate, LevelRange


class Features:
    """Reads the replayed metadata; keeps nothing itself."""

    __slots__ = ("_store",)

    def __init__(self, store: MetadataStore) -> None:
        self._store = store

    @property
    def supported(self) -> Mapping[str, LevelRange]:
        """What this broker can serve."""
        return SUPPORTED

    @property
    def epoch(self) -> int:
        """Rises with every change and never falls, also over restarts: the last offset of the
        metadata log. Clients believe the levels that come with the highest epoch."""
        return self._store.end_offset - 1

    def finalized(self) -> dict[str, int]:
        """Features that are on, and their levels. What a directory of Kafka has beyond what is
        served here is not among them."""
        levels = self._store.state.features
        return {name: levels[name] for name in SUPPORTED if name in levels}

    def level(self, name: str) -> int:
        """0 for a feature that is off."""
        return self._store.state.features.get(name, 0)

    def update(self, updates: Sequence[FeatureUpdate], *, validate_only: bool = False) -> None:
        """Set levels, all or none. The change survives a crash once the store is durable."""
        records = decide_feature_updates(self._store.state.features, updates)
        if not validate_only:
            self._store.commit(records)
