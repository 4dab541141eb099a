"""Sends one batch of rows, in order, and says which ones are surely in the log.

Messages never expire on their own: one that expired between two others of its key would break the
order. Instead the whole batch is given up at its deadline, so that of each partition's messages
always a first part is in the log and the rest is not.

The broker refuses a whole request for one bad message. ``one_by_one`` finds out which one it is.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException, Producer

from headrace.patterns.errors import OutboxRowRefused, OutboxSendFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from confluent_kafka import Message

PURGE_SECONDS_MAX = 5.0
POLL_SECONDS = 0.1

log = logging.getLogger(__name__)

REFUSALS = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_RECORD,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.POLICY_VIOLATION,
        KafkaError._INVALID_ARG,
    }
)


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """One row, ready to be sent."""

    row_id: int
    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message is in the log."""

    topic: str
    partition: int
    offset: int


class RelaySender:
    """A producer for one run of good luck: after any failure it is closed and not used again."""

    def __init__(
        self,
        config: Mapping[str, object],
        *,
        one_by_one: bool = False,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._one_by_one = one_by_one
        self._monotonic_s = monotonic_s
        self._producer = Producer(
            {
                "linger.ms": 5,
                "partitioner": "murmur2_random",  # the partition Java's clients would choose
                **config,
                "enable.idempotence": True,
                "enable.gapless.guarantee": not one_by_one,
                "acks": "all",
                "message.timeout.ms": 0,
            },
            logger=log,
        )

    def send(self, messages: Sequence[OutboxMessage], timeout_s: float) -> dict[int, Place]:
        """Row id -> place, for every row; raises if one is missing at the deadline."""
        deadline_s = self._monotonic_s() + timeout_s
        if not self._one_by_one:
            return self._send_together(messages, deadline_s)
        places: dict[int, Place] = {}
        for message in messages:
            places.update(self._send_together([message], deadline_s))
        return places

    def _send_together(
        self, messages: Sequence[OutboxMessage], deadline_s: float
    ) -> dict[int, Place]:
        places: dict[int, Place] = {}
        failures: dict[int, KafkaError] = {}
        for message in messages:
            self._produce(message, self._note(message.row_id, places, failures), deadline_s)
        while len(places) < len(messages) and not failures:
            if self._monotonic_s() > deadline_s:
                raise OutboxSendFailed(
                    f"{len(messages) - len(places)} of {len(messages)} messages were not "
                    "acknowledged in time; the relay tries again: check that the broker is "
                    "reachable and the topics exist"
                )
            self._poll()
        for row_id, error in failures.items():
            raise self._explain(row_id, error)
        return places

    def abandon(self) -> None:
        """Drop what is still waiting, so that nothing is sent after this."""
        self._producer.purge(in_queue=True, in_flight=True, blocking=True)
        self._producer.flush(PURGE_SECONDS_MAX)

    def _produce(
        self,
        message: OutboxMessage,
        note: Callable[[KafkaError | None, Message], None],
        deadline_s: float,
    ) -> None:
        while True:
            try:
                self._producer.produce(
                    message.topic,
                    key=message.key,
                    value=message.value,
                    headers=list(message.headers),
                    on_delivery=note,
                )
            except BufferError as failure:  # the library's queue is full: let it empty
                if self._monotonic_s() > deadline_s:
                    raise OutboxSendFailed(
                        "the client's queue stayed full; trying again"
                    ) from failure
                self._poll()
            except KafkaException as failure:
                raise self._explain(message.row_id, failure.args[0]) from failure
            else:
                return

    def _poll(self) -> None:
        try:
            self._producer.poll(POLL_SECONDS)
        except KafkaException as failure:
            if failure.args[0].code() == KafkaError._GAPLESS_GUARANTEE:
                raise OutboxRowRefused(f"a request was refused: {failure}") from failure
            raise OutboxSendFailed(f"the producer failed: {failure}; trying again") from failure

    @staticmethod
    def _note(
        row_id: int, places: dict[int, Place], failures: dict[int, KafkaError]
    ) -> Callable[[KafkaError | None, Message], None]:
        def note(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failures[row_id] = error
            else:
                places[row_id] = Place(
                    str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)
                )

        return note

    @staticmethod
    def _explain(row_id: int, error: KafkaError) -> OutboxSendFailed | OutboxRowRefused:
        if error.code() in REFUSALS:
            return OutboxRowRefused(
                f"outbox row {row_id} cannot be sent: {error}. Nothing behind it is sent, to keep "
                "the order. Correct the topic (size limit, name, access), or delete the row"
            )
        return OutboxSendFailed(f"outbox row {row_id} was not acknowledged: {error}; trying again")
