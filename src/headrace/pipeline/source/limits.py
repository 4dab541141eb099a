"""How much one micro-batch may take, and how long a small one waits. Pure: time is passed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.model.topic import TopicPartition
    from headrace.pipeline.source.positions import Positions


def total_lag(start: Positions, latest: Positions) -> int:
    return sum(_lags(start, latest).values())


def limited(start: Positions, latest: Positions, offsets_max: int) -> Positions:
    """As far as ``offsets_max`` offsets go, shared in proportion to the lag of each partition.

    The shares add up to the limit exactly. A partition with any lag gets at least one offset, so
    that a small one is not starved by a large one; if there are more of them than offsets, those
    with the largest lag come first.
    """
    lags = _lags(start, latest)
    total = sum(lags.values())
    if total <= offsets_max:
        return dict(latest)
    shares = _shares(lags, total, offsets_max)
    return {
        partition: start[partition] + shares[partition] if partition in shares else offset
        for partition, offset in latest.items()
    }


def _lags(start: Positions, latest: Positions) -> dict[TopicPartition, int]:
    return {
        partition: offset - start[partition]
        for partition, offset in latest.items()
        if offset > start[partition]
    }


def _shares(
    lags: dict[TopicPartition, int], total: int, offsets_max: int
) -> dict[TopicPartition, int]:
    least = 1 if offsets_max >= len(lags) else 0
    to_share = offsets_max - least * len(lags)
    rest = total - least * len(lags)
    shares = {
        partition: least + (lag - least) * to_share // rest for partition, lag in lags.items()
    }
    left = offsets_max - sum(shares.values())  # by rounding down: fewer than there are partitions
    hungriest = sorted(lags, key=lambda partition: (shares[partition] - lags[partition], partition))
    for partition in hungriest[:left]:
        shares[partition] += 1
    return shares


class TriggerDelay:
    """Holds a micro-batch back until it is worth it, or has waited for long enough."""

    def __init__(self, offsets_min: int, delay_ms_max: int) -> None:
        self._offsets_min = offsets_min
        self._delay_ms_max = delay_ms_max
        self._triggered_ms: int | None = None

    def must_wait(self, lag: int, now_ms: int) -> bool:
        """The first batch of a query never waits, whatever its size."""
        is_due = (
            self._triggered_ms is None
            or now_ms - self._triggered_ms >= self._delay_ms_max
            or lag >= self._offsets_min
        )
        if is_due:
            self._triggered_ms = now_ms
        return not is_due
