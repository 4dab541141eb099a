"""What the layers above see of a log: the ``Log`` port, and the values that cross it.

``SegmentedLog`` (disk) and ``MemoryLog`` implement the port. All of it runs on one thread.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.config.topic import TopicConfig
    from headrace.model.topic import TopicId, TopicPartition

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


class LogSlice(Protocol):
    """A run of bytes of one log, to be read or to be sent by ``sendfile``."""

    first_offset: int
    position: int

    def __len__(self) -> int: ...

    def read(self) -> bytes: ...

    def pin(self) -> None:
        """Keep the descriptor open until ``release``."""

    def release(self) -> None: ...


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

    @property
    def size_bytes(self) -> int: ...

    def read(
        self, offset: int, max_bytes: int, end_offset: int, *, at_least_one: bool
    ) -> LogSlice: ...

    def aborted_transactions(self, offset: int, end_offset: int) -> list[tuple[int, int]]: ...

    def offset_for_timestamp(self, timestamp_ms: int) -> tuple[int, int] | None: ...

    def offset_of_max_timestamp(self) -> tuple[int, int] | None: ...

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]: ...

    def delete_records_before(self, offset: int) -> int: ...

    def truncate_to(self, offset: int) -> None: ...

    def flush(self) -> None: ...

    def producers(self) -> Iterable[ProducerView]: ...

    def records_from(self, offset: int | None = None) -> Iterator[bytes]: ...
