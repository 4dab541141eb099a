"""Reading the logs of a coordinator's shards: a first slice at once, the rest while serving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.environment.ports import Background, Cancellable

RECORDS_BEFORE_SERVING_MAX = 20_000
"""Records that are read before the broker serves: a small log never shows that it is loading."""
RECORDS_PER_SLICE = 2_000
"""Records that are read in one turn of the loop afterwards; some tens of milliseconds."""


class LoadableShard(Protocol):
    is_loading: bool

    def load_some(self, records_max: int) -> int:
        """Replay about so many records; how many there were."""


class ShardLoader:
    """Reads one shard after the other; one that is asked for goes first."""

    def __init__(self, background: Background, on_done: Callable[[], None]) -> None:
        self._background = background
        self._on_done = on_done
        self._loading: list[LoadableShard] = []
        self._next_slice: Cancellable | None = None

    @property
    def is_done(self) -> bool:
        return not self._loading

    def start(self, shards: Sequence[LoadableShard]) -> None:
        self._loading = [*reversed(shards)]
        self._load_some(RECORDS_BEFORE_SERVING_MAX)

    def prefer(self, shard: LoadableShard) -> None:
        if shard in self._loading:
            self._loading.remove(shard)
            self._loading.append(shard)

    def stop(self) -> None:
        self._loading = []
        if self._next_slice is not None:
            self._next_slice.cancel()
            self._next_slice = None

    def _load_some(self, records_max: int) -> None:
        """The last of the list goes first."""
        self._next_slice = None
        count = 0
        while self._loading and count < records_max:
            shard = self._loading[-1]
            count += shard.load_some(records_max - count)
            if not shard.is_loading:
                self._loading.pop()
        if self._loading:
            self._next_slice = self._background.call_later(
                0, lambda: self._load_some(RECORDS_PER_SLICE)
            )
        else:
            self._on_done()
