"""Resident memory: of a broker that has just started, and of one that has done all steady work."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.figures import PAGE_CACHE, Figure

if TYPE_CHECKING:
    from bench.peers import Peer

SETTLE_SECONDS = 3.0


@dataclass(frozen=True)
class IdleMemory:
    """Before any client has come."""

    name: str = "memory-idle"
    title: str = "Memory after the start, idle"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (Figure("resident", "MB", "lower", 0.2),)
    rounds_max: int = 1
    writes_bulk: bool = False
    is_quick: bool = True

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        time.sleep(SETTLE_SECONDS)
        return {"resident": peer.resident_megabytes()}


@dataclass(frozen=True)
class LoadedMemory:
    """After all steady work of this run."""

    name: str = "memory-loaded"
    title: str = "Memory after all the work above"
    durability: str = PAGE_CACHE
    figures: tuple[Figure, ...] = (
        Figure("resident", "MB", "lower", 0.15),
        Figure("peak", "MB", "lower"),
    )
    rounds_max: int = 1
    writes_bulk: bool = False
    is_quick: bool = True

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        return {"resident": peer.resident_megabytes(), "peak": peer.peak_megabytes()}
