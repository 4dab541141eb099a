"""What a log knows of the producers that write to it: sequences, epochs, open transactions.

Per producer the last five batches are kept, so that a batch sent again is recognised and answered
with the offset that it got the first time. Checking changes nothing; ``record`` does, once it is
written.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import (
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
)
from headrace.records.header import CONTROL, NO_PRODUCER_EPOCH, NO_SEQUENCE, TRANSACTIONAL
from headrace.storage.log_port import NO_TIMESTAMP, ProducerView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.storage.batch_walk import RawHeader
    from headrace.storage.control_batch import EndMarker

BATCHES_KEPT = 5
SEQUENCE_MASK = 2**31 - 1
NO_OFFSET = -1
NO_COORDINATOR_EPOCH = -1
_new_tuple = tuple.__new__
"""Half the price of a NamedTuple's own constructor; for the hot path."""


class KnownBatch(NamedTuple):
    """One batch that a producer wrote."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp_ms: int


class CompletedTransaction(NamedTuple):
    """A transaction whose marker has just been written at ``last_offset``."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool
    last_stable_offset: int


class Producer:
    """The state of one producer id in one log."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp_ms",
        "next_sequence",
        "producer_id",
        "transaction_start",
    )

    def __init__(self, producer_id: int, epoch: int = NO_PRODUCER_EPOCH) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.next_sequence = 0
        self.batches: deque[KnownBatch] = deque(maxlen=BATCHES_KEPT)
        self.last_timestamp_ms = NO_TIMESTAMP
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.transaction_start = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def duplicate_of(self, epoch: int, base_sequence: int, last_sequence: int) -> KnownBatch | None:
        """The batch with just these sequences, if it is among the last five of this epoch."""
        if epoch == self.epoch:
            for batch in self.batches:
                if batch.base_sequence == base_sequence and batch.last_sequence == last_sequence:
                    return batch
        return None


class ProducerStates:
    """All producers of one log. ``load`` is called once, when the state is first needed."""

    __slots__ = ("_completed", "_load", "_producers", "has_transactions", "ongoing")

    def __init__(self, load: Callable[[], None] | None = None) -> None:
        self._producers: dict[int, Producer] = {}
        self.ongoing: dict[int, int] = {}
        """First offset of each open transaction -> producer id, ascending."""
        self._completed: dict[int, int] = {}
        """First offset -> marker's offset, where the marker is not below the high watermark yet."""
        self.has_transactions = False
        """Whether ``first_unstable_offset`` may be anything but the high watermark."""
        self._load = load

    def ensure_loaded(self) -> None:
        load, self._load = self._load, None
        if load is None:
            return
        try:
            load()
        except BaseException:
            # A part of them is worse than none: the missing ones would look like new producers.
            self.clear()
            self._load = load
            raise

    def clear(self) -> None:
        self._load = None
        self._producers.clear()
        self.ongoing.clear()
        self._completed.clear()
        self.has_transactions = False

    def __len__(self) -> int:
        self.ensure_loaded()
        return len(self._producers)

    def __iter__(self) -> Iterator[Producer]:
        self.ensure_loaded()
        return iter(self._producers.values())

    def get(self, producer_id: int) -> Producer | None:
        if self._load is not None:
            self.ensure_loaded()
        return self._producers.get(producer_id)

    def restore(self, producers: Iterable[Producer]) -> None:
        """Take over what a snapshot holds."""
        for producer in producers:
            self._producers[producer.producer_id] = producer
        starts = sorted(
            (producer.transaction_start, producer.producer_id)
            for producer in self._producers.values()
            if producer.transaction_start >= 0
        )
        self.ongoing = dict(starts)
        self.has_transactions = bool(starts)

    # --- checking ---------------------------------------------------------------------------------

    def check(self, header: RawHeader) -> KnownBatch | None:
        """Raise if the batch must not be appended; the earlier one if it is a duplicate.

        Kafka's rules: next sequence, wrap-around, epochs, the last five batches.
        """
        producer = self._producers.get(header[9])
        if (
            producer is not None
            and producer.epoch == header[10]
            and producer.next_sequence == header[11]
            and producer.batches
            and (producer.transaction_start < 0) is not bool(header[5] & TRANSACTIONAL)
        ):
            return None
        return self._check_slowly(header)

    def _check_slowly(self, header: RawHeader) -> KnownBatch | None:
        producer = self.get(header[9])
        if producer is None:
            return None
        epoch, base_sequence = header[10], header[11]
        last_sequence = (base_sequence + header[6]) & SEQUENCE_MASK
        duplicate = producer.duplicate_of(epoch, base_sequence, last_sequence)
        if duplicate is not None:
            return duplicate
        if epoch < producer.epoch:
            raise _fenced(producer, epoch)
        _raise_if_out_of_order(producer, epoch, base_sequence)
        if producer.transaction_start >= 0 and not header[5] & TRANSACTIONAL:
            raise InvalidTransactionState(
                f"producer {producer.producer_id} has a transaction open in this partition"
            )
        return None

    def check_epoch(self, header: RawHeader) -> None:
        """Raise if the batch, which a coordinator writes for a producer, comes from an older epoch.

        Its sequences mean nothing. Markers are not looked at: they decide about epochs."""
        if header[5] & CONTROL:
            return
        producer = self.get(header[9])
        if producer is not None and header[10] < producer.epoch:
            raise _fenced(producer, header[10])

    # --- recording --------------------------------------------------------------------------------

    def record(self, header: RawHeader, base_offset: int) -> None:
        """A data batch of a producer has been written at ``base_offset``."""
        (
            _,
            _,
            _,
            _,
            _,
            attributes,
            last_offset_delta,
            _,
            timestamp_ms,
            producer_id,
            epoch,
            base_sequence,
            _,
        ) = header
        producer = self._producers.get(producer_id)
        if producer is None:
            self.ensure_loaded()
            producer = self._producers.setdefault(producer_id, Producer(producer_id, epoch))
        if producer.epoch != epoch:
            producer.epoch = epoch
            producer.batches.clear()
        last_sequence = (base_sequence + last_offset_delta) & SEQUENCE_MASK
        if base_sequence < 0:
            last_sequence = NO_SEQUENCE
        producer.next_sequence = (last_sequence + 1) & SEQUENCE_MASK
        producer.last_timestamp_ms = timestamp_ms
        last_offset = base_offset + last_offset_delta
        known = (base_sequence, last_sequence, base_offset, last_offset, timestamp_ms)
        producer.batches.append(_new_tuple(KnownBatch, known))
        if attributes & TRANSACTIONAL and producer.transaction_start < 0:
            producer.transaction_start = base_offset
            self.ongoing[base_offset] = producer_id
            self.has_transactions = True

    def record_marker(
        self, header: RawHeader, base_offset: int, marker: EndMarker
    ) -> CompletedTransaction | None:
        """A control batch that ends a transaction has been written at ``base_offset``."""
        producer = self.get(header[9])
        if producer is None:
            producer = self._producers.setdefault(header[9], Producer(header[9], header[10]))
        if producer.epoch != header[10]:
            producer.epoch = header[10]
            producer.batches.clear()
            producer.next_sequence = 0
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.last_timestamp_ms = header[8]
        first_offset, producer.transaction_start = producer.transaction_start, NO_OFFSET
        if first_offset < 0:
            return None
        self.ongoing.pop(first_offset, None)
        self._completed[first_offset] = base_offset
        self.has_transactions = True
        stable = next(iter(self.ongoing), base_offset + 1)
        return CompletedTransaction(
            producer.producer_id, first_offset, base_offset, marker.is_abort, stable
        )

    def first_unstable_offset(self, high_watermark: int) -> int:
        """Below this everything is decided and visible; at most the high watermark."""
        ongoing, completed = self.ongoing, self._completed
        if completed:
            for first_offset in [f for f, last in completed.items() if last < high_watermark]:
                del completed[first_offset]
        if not ongoing and not completed:
            self.has_transactions = False
            return high_watermark
        self.has_transactions = True
        first = next(iter(ongoing), high_watermark)
        return min(first, high_watermark, min(completed, default=high_watermark))

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that have not written for so long; how many."""
        expired = [
            producer.producer_id
            for producer in self._producers.values()
            if producer.transaction_start < 0
            and now_ms - producer.last_timestamp_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        return len(expired)

    def views(self) -> list[ProducerView]:
        return [
            ProducerView(
                producer.producer_id,
                producer.epoch,
                producer.last_sequence,
                producer.last_timestamp_ms,
                producer.coordinator_epoch,
                producer.transaction_start,
            )
            for producer in self
        ]


def _fenced(producer: Producer, epoch: int) -> InvalidProducerEpoch:
    return InvalidProducerEpoch(
        f"producer {producer.producer_id} has epoch {producer.epoch}, the batch {epoch}"
    )


def _raise_if_out_of_order(producer: Producer, epoch: int, base_sequence: int) -> None:
    if epoch != producer.epoch:
        if base_sequence != 0:
            raise OutOfOrderSequence(
                f"producer {producer.producer_id} begins epoch {epoch} at sequence {base_sequence}"
            )
        return
    expected = producer.next_sequence if producer.batches else 0
    if base_sequence != expected:
        raise OutOfOrderSequence(
            f"producer {producer.producer_id} sent sequence {base_sequence}, expected {expected}"
        )


def is_end_marker(header: RawHeader) -> bool:
    return bool(header[5] & CONTROL) and header[9] >= 0
