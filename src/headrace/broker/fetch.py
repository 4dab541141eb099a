"""Fetch: read several partitions within limits, or wait until there is something to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import (
    FencedLeaderEpoch,
    HeadraceError,
    StorageFailure,
    UnknownLeaderEpoch,
    UnknownTopicOrPartition,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.broker.topics import Partition
    from headrace.broker.waiting import Waiter, WaitingRoom
    from headrace.environment.ports import Clock
    from headrace.storage.log_port import Log, LogSlice

NO_EPOCH = -1


class Target(NamedTuple):
    """One partition of a fetch. Either ``partition`` is set, or ``error`` says why it is not."""

    partition: Partition | None
    offset: int
    max_bytes: int
    leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH
    error: HeadraceError | None = None


class Limits(NamedTuple):
    """What the caller asked for, already capped by the broker's own limits."""

    max_bytes: int
    min_bytes: int
    wait_ms: int
    committed_only: bool


class Fetched(NamedTuple):
    """What one partition gave."""

    error: HeadraceError | None
    records: LogSlice | None = None
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: list[tuple[int, int]] | None = None
    diverging: tuple[int, int] | None = None


class FetchResult(NamedTuple):
    """One entry per target, in their order."""

    partitions: list[Fetched]
    size_bytes: int
    must_answer: bool  # an error or a divergence: the caller must learn of it at once


class ParkedFetch:
    """A fetch that waits. ``cancel`` when nobody wants the answer any more."""

    __slots__ = ("_deadline", "_done", "_fetching", "_limits", "_result", "_targets", "_waiter")

    def __init__(
        self,
        fetching: Fetching,
        targets: Sequence[Target],
        limits: Limits,
        done: Callable[[FetchResult], None],
        result: FetchResult,
    ) -> None:
        self._fetching = fetching
        self._targets = targets
        self._limits = limits
        self._done = done
        self._result = result
        self._deadline = fetching.clock.monotonic() + limits.wait_ms / 1000
        self._waiter: Waiter
        self._park(limits.min_bytes - result.size_bytes, limits.wait_ms)

    def _park(self, missing_bytes: int, wait_ms: int) -> None:
        logs = {t.partition.log for t in self._targets if t.partition is not None}
        self._waiter = self._fetching.waiting.park(logs, missing_bytes, wait_ms, self._look_again)

    def _look_again(self) -> None:
        if not self._waiter.has_seen_change and not self._result.size_bytes:
            # The time is over and all is as it was. (Slices are not kept: their files may go.)
            self._done(self._result)
            return
        result = self._result = self._fetching.read(self._targets, self._limits)
        missing_bytes = self._limits.min_bytes - result.size_bytes
        rest_ms = int((self._deadline - self._fetching.clock.monotonic()) * 1000)
        if missing_bytes > 0 and not result.must_answer and rest_ms > 0:
            self._park(missing_bytes, rest_ms)
        else:
            self._done(result)

    def cancel(self) -> None:
        self._fetching.waiting.leave(self._waiter)


class Fetching:
    """The read side of the broker."""

    def __init__(self, waiting: WaitingRoom, clock: Clock, parked_max: int) -> None:
        self.waiting = waiting
        self.clock = clock
        self._parked_max = parked_max

    def fetch(
        self,
        targets: Sequence[Target],
        limits: Limits,
        done: Callable[[FetchResult], None],
    ) -> FetchResult | ParkedFetch:
        """What there is if that is enough; else a parked fetch that calls ``done`` later."""
        result = self.read(targets, limits)
        missing_bytes = limits.min_bytes - result.size_bytes
        if (
            missing_bytes <= 0
            or result.must_answer
            or limits.wait_ms <= 0
            or self.waiting.parked >= self._parked_max
        ):
            return result
        return ParkedFetch(self, targets, limits, done, result)

    def read(self, targets: Sequence[Target], limits: Limits) -> FetchResult:
        """Read now, in the order of the targets, until the limit is reached (KIP-74)."""
        partitions: list[Fetched] = []
        total = 0
        must_answer = False
        for target in targets:
            try:
                fetched = self._read_one(target, limits, limits.max_bytes - total, total == 0)
            except HeadraceError as error:
                fetched = Fetched(error)
            except OSError as error:
                # A file that went, or that nobody may open: this partition fails, not the others.
                fetched = Fetched(StorageFailure(f"the log cannot be read: {error}"))
            if fetched.records is not None:
                total += len(fetched.records)
            if fetched.error is not None or fetched.diverging is not None:
                must_answer = True
            partitions.append(fetched)
        return FetchResult(partitions, total, must_answer)

    def _read_one(self, target: Target, limits: Limits, bytes_left: int, is_first: bool) -> Fetched:
        partition = target.partition
        if partition is None:
            return Fetched(target.error or UnknownTopicOrPartition())
        raise_if_wrong_epoch(partition, target.leader_epoch)
        log = partition.log
        if log.is_deleted:
            raise UnknownTopicOrPartition(f"{log.partition} was deleted")
        if target.last_fetched_epoch != NO_EPOCH:
            diverging = find_divergence(log, target)
            if diverging is not None:
                return self._described(log, None, None, diverging)
        end_offset = log.last_stable_offset if limits.committed_only else log.high_watermark
        max_bytes = min(target.max_bytes, bytes_left)
        records: LogSlice | None
        if target.offset == end_offset or (max_bytes <= 0 and not is_first):
            records = None
        else:
            # The first batch is returned whole, however large: otherwise its reader never gets
            # past it.
            records = log.read(target.offset, max(max_bytes, 0), end_offset, at_least_one=is_first)
            if not len(records):
                records = None
            else:
                # Open its file now: if that cannot be done, this partition fails, not the answer.
                records.pin()
                records.release()
        aborted: list[tuple[int, int]] | None = None
        if limits.committed_only:
            aborted = log.aborted_in(records, target.offset, end_offset) if records else []
        return self._described(log, records, aborted, None)

    @staticmethod
    def _described(
        log: Log,
        records: LogSlice | None,
        aborted: list[tuple[int, int]] | None,
        diverging: tuple[int, int] | None,
    ) -> Fetched:
        return Fetched(
            None,
            records,
            log.high_watermark,
            log.last_stable_offset,
            log.log_start_offset,
            aborted,
            diverging,
        )


def raise_if_wrong_epoch(partition: Partition, leader_epoch: int) -> None:
    """KIP-320: the caller's idea of who leads must be ours."""
    if leader_epoch == NO_EPOCH or leader_epoch == partition.leader_epoch:
        return
    if leader_epoch < partition.leader_epoch:
        raise FencedLeaderEpoch(f"epoch {leader_epoch} is over, now it is {partition.leader_epoch}")
    raise UnknownLeaderEpoch(f"epoch {leader_epoch} has not come, it is {partition.leader_epoch}")


def find_divergence(log: Log, target: Target) -> tuple[int, int] | None:
    """Where the reader's log and ours part, if they do."""
    epoch, end_offset = log.end_offset_for_epoch(target.last_fetched_epoch)
    if epoch < target.last_fetched_epoch or end_offset < target.offset:
        return epoch, end_offset
    return None
