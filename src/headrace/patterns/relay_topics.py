"""The relay's view of its topics: where they end now, and what was written since.

Reads uncommitted data and belongs to no group: it commits nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from headrace.patterns.errors import OutboxReadBackFailed, OutboxTailLost
from headrace.patterns.message_id import header_message_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from confluent_kafka import Message

    from headrace.patterns.relay_claim import Offsets

REQUEST_SECONDS_MAX = 10.0
SILENCE_SECONDS_MAX = 30.0  # without any progress of a read back
READ_MESSAGES_MAX = 500


class RelayTopics:
    """Closes its connections in :meth:`close`."""

    def __init__(
        self,
        config: Mapping[str, object],
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic_s = monotonic_s
        self._consumer = Consumer(
            {
                **config,
                "group.id": "headrace-outbox-relay",  # required by the library, never joined
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_uncommitted",
                "auto.offset.reset": "error",
                "allow.auto.create.topics": False,
            }
        )

    def close(self) -> None:
        self._consumer.close()

    def partitions(self, topic: str) -> list[int]:
        """Empty if the topic does not exist (yet)."""
        try:
            found = self._consumer.list_topics(topic, REQUEST_SECONDS_MAX).topics[topic]
        except KafkaException as failure:
            raise self._unreachable(topic, failure) from failure
        if found.error is None:
            return sorted(found.partitions)
        if found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return []
        raise self._unreachable(topic, KafkaException(found.error))

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """The first offset and the end."""
        try:
            low, high = self._consumer.get_watermark_offsets(
                TopicPartition(topic, partition), REQUEST_SECONDS_MAX
            )
        except KafkaException as failure:
            raise self._unreachable(topic, failure) from failure
        return low, high

    def ends(self, topic: str) -> dict[int, int]:
        return {p: self.bounds(topic, p)[1] for p in self.partitions(topic)}

    def ids_since(self, ends: Offsets, *, accept_loss: bool) -> Iterator[str]:
        """The message ids written since ``ends``, each as often as it is there."""
        starts = [
            self._start(topic, partition, known, accept_loss)
            for topic, known in ends.items()
            for partition in self.partitions(topic)
        ]
        if not starts:
            return
        self._consumer.assign(starts)
        try:
            yield from self._read({(s.topic, s.partition) for s in starts})
        finally:
            self._consumer.unassign()

    def _start(
        self, topic: str, partition: int, known: dict[int, int], accept_loss: bool
    ) -> TopicPartition:
        low, high = self.bounds(topic, partition)
        wanted = known.get(partition, 0)
        if wanted > high:  # the topic was deleted and made again: all of it is new
            wanted = 0
        if wanted < low and not accept_loss:
            raise OutboxTailLost(
                f"{topic}/{partition} begins at {low}, but what was sent before the crash is "
                f"from {wanted} on: retention deleted it. Look up in the consumers which "
                "messages arrived and delete their rows, or start the relay with "
                "accept_loss_of_tail=True to send all remaining rows (some perhaps twice)"
            )
        return TopicPartition(topic, partition, max(wanted, low))

    def _read(self, unfinished: set[tuple[str | None, int | None]]) -> Iterator[str]:
        """Until each partition has reported its end."""
        deadline_s = self._monotonic_s() + SILENCE_SECONDS_MAX
        while unfinished:
            messages = self._consumer.consume(READ_MESSAGES_MAX, 0.5)
            if messages:
                deadline_s = self._monotonic_s() + SILENCE_SECONDS_MAX
            elif self._monotonic_s() > deadline_s:
                raise OutboxReadBackFailed(
                    f"no answer for {SILENCE_SECONDS_MAX:.0f} s while reading back "
                    f"{sorted(str(u) for u in unfinished)}: is the broker reachable?"
                )
            for message in messages:
                error = message.error()
                if error is None:
                    yield from self._id_of(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    unfinished.discard((message.topic(), message.partition()))
                elif error.fatal() or not error.retriable():
                    raise self._unreachable(str(message.topic()), KafkaException(error))

    @staticmethod
    def _id_of(message: Message) -> Iterator[str]:
        found = header_message_id(message)
        if found is not None:
            yield found

    @staticmethod
    def _unreachable(topic: str, failure: KafkaException) -> OutboxReadBackFailed:
        return OutboxReadBackFailed(
            f"cannot ask the broker about topic {topic}: {failure}; check bootstrap.servers, "
            "and that the relay's user may describe and read the topic"
        )
