"""The three kinds of work. A module of `bench/work` needs only to have these names.

Steady work runs on two brokers that stay up and are warm; only one of them is under load at a time.
Life-cycle work starts and stops brokers of its own. Growth work yields curves instead of figures.
`scale` multiplies the amount of work: 1.0 in a full run, less for a quick look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.figures import Figure, Series
    from bench.peers import Peer, PeerFactory


class Described(Protocol):
    """What every work says about itself."""

    @property
    def name(self) -> str:
        """For the command line and the files: `produce-100B-1p`."""

    @property
    def title(self) -> str:
        """For the table."""

    @property
    def durability(self) -> str:
        """What an acknowledgement means here; printed beside every figure."""


class Repeated(Described, Protocol):
    """Work that is done in rounds, each on both peers in turn."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every number that `run` returns."""

    @property
    def rounds_max(self) -> int:
        """Rounds in a full run: 3, fewer where one takes long, more where one takes seconds."""

    @property
    def is_quick(self) -> bool:
        """Whether it belongs to the quick run."""


class SteadyWork(Repeated, Protocol):
    """Work on a broker that runs and is warm."""

    @property
    def writes_bulk(self) -> bool:
        """Whether so much is written that the memory for it must be made ready first."""

    def run(self, peer: Peer, scale: float) -> dict[str, float]:
        """One round; the keys are the names of the figures."""


class LifeCycleWork(Repeated, Protocol):
    """Work that starts, stops or configures brokers by itself."""

    def run(self, factory: PeerFactory, scale: float) -> dict[str, float]:
        """One round; the keys are the names of the figures."""


class GrowthWork(Described, Protocol):
    """Work that is repeated with more and more of something."""

    def run(self, factory: PeerFactory, scale: float) -> Sequence[Series]:
        """All curves of one peer."""
