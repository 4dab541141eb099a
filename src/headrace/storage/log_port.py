"""What the layers above see of a log: the ``Log`` port, and the values that cross it.

``SegmentedLog`` (disk) and ``MemoryLog`` implement the port. All of it runs on one thread.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from headrace.config.topic import TopicConfig
    from headrace.environment.ports import Buffer
    from headrace.model.topic import TopicId, TopicPartition
    from headrace.storage.batch_walk import RawHeader
    from headrace.storage.log_slice import LogSlice as LogSlice

NO_TIMESTAMP = -1


class Origin(Enum):
    """Who wrote a batch, and so how much of it has to be checked."""

    CLIENT = "client"
    COORDINATOR = "coordinator"


class Appended(NamedTuple):
    """Where a batch went. ``commit_number`` 0 means that it is as durable as it will get."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    commit_number: int
    is_duplicate: bool


class LogSpec(NamedTuple):
    """A log that should exist, as the metadata says."""

    partition: TopicPartition
    topic_id: TopicId
    config: TopicConfig
    leader_epoch: int = 0


class ProducerView(NamedTuple):
    """One active producer, as DescribeProducers shows it."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int


class Admitted(NamedTuple):
    """A batch that has passed the checks and has its offset, but is not written yet."""

    batch: Buffer
    header: RawHeader
    base_offset: int


class Log(Protocol):
    """One partition's log. The offsets are plain attributes: they are read on the hot path."""

    partition: TopicPartition
    topic_id: TopicId
    config: TopicConfig
    leader_epoch: int
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int
    listener: Callable[[Log], None] | None
    """Called when an offset readers wait for has moved, or the log was cut or deleted."""
    is_deleted: bool

    @property
    def appended_bytes(self) -> int:
        """Grows with every append and is cheap to ask; only its differences mean anything."""

    @property
    def size_bytes(self) -> int: ...

    def read(
        self, offset: int, max_bytes: int, end_offset: int, *, at_least_one: bool
    ) -> LogSlice: ...

    def aborted_transactions(self, offset: int, end_offset: int) -> list[tuple[int, int]]:
        """(producer, first offset) of aborted transactions that touch ``[offset, end_offset)``."""

    def aborted_in(self, records: LogSlice, offset: int, end_offset: int) -> list[tuple[int, int]]:
        """The same for what ``read`` gave for ``offset`` and ``end_offset``: all that touch it, and
        few others."""

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int] | None: ...

    def offset_of_max_timestamp(self) -> tuple[int, int] | None: ...

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]: ...

    def delete_records_before(self, offset: int) -> int: ...

    def truncate_to(self, offset: int) -> None: ...

    def flush(self) -> None: ...

    def producers(self) -> Iterable[ProducerView]: ...

    def records_from(self, offset: int | None = None) -> Iterator[bytes]: ...

    # --- for the manager alone: layers above append through ``LogManager.append`` -----------------

    is_direct: bool
    """Whether one batch may be written without the write-ahead log."""
    is_synced: bool
    """Whether records are shown only when they are safe from a loss of power."""
    is_persistent: bool

    def append_batch(self, batch: Buffer, origin: Origin, now_ms: int) -> Appended: ...

    def admit(
        self, batch: Buffer, origin: Origin, now_ms: int, base_offset: int
    ) -> Admitted | Appended: ...

    def write_admitted(self, admitted: Sequence[Admitted], now_ms: int) -> None: ...

    def undo_write(self) -> None: ...

    def apply_admitted(self, entry: Admitted, commit_number: int) -> Appended: ...

    def advance_high_watermark(self, offset: int) -> None: ...

    def notify(self) -> None: ...

    def configure(self, config: TopicConfig) -> None: ...

    def expire_producers(self, now_ms: int, expiration_ms: int) -> int: ...

    def close(self) -> None: ...
