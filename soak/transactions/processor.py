"""A processor on librdkafka: reads numbers, writes results, commits both in one transaction.

Rebalances happen only inside ``poll``; what was taken from a partition that is given away is
dropped there, and whoever gets it starts from the committed offset. So when a transaction begins,
all of its input belongs to this process, or the broker knows better and refuses the offsets.

    python -m soak.transactions.processor ARGUMENTS (see Task)
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from headrace.testing.history_transactions import Result, result_of
from soak.clients import client_settings
from soak.transactions.task import (
    ABORTED_LINE,
    BEGUN_AGAIN_STATUS,
    COMMITTED_LINE,
    Task,
    output_partition,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message

POLL_SECONDS = 0.1
CALL_SECONDS_MAX = 10.0
CALLS_MAX = 6
"""A call that timed out may be made again: so long a broker may be away."""


class Processor:
    """One life of a processor; it ends by being killed or by an error it cannot mend."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._chance = random.Random(task.seed)
        self._transactions = 0
        self._batch: list[Message] = []
        self._producer = Producer(
            client_settings(
                task.bootstrap_servers,
                transactional_id=task.transactional_id,
                transaction_timeout_ms=task.transaction_timeout_ms,
                linger_ms=0,
                # librdkafka 2.16 forgets its brokers when none answers, and a transaction whose
                # offsets are on their way then waits for one of the forgotten for ever.
                metadata_recovery_strategy="none",
            )
        )
        self._consumer = Consumer(
            client_settings(
                task.bootstrap_servers,
                group_id=task.group,
                isolation_level="read_committed",
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                session_timeout_ms=task.session_timeout_ms,
                heartbeat_interval_ms=task.heartbeat_ms,
            )
        )

    def run(self) -> None:
        persist(lambda: self._producer.init_transactions(CALL_SECONDS_MAX))
        self._consumer.subscribe([self._task.input_topic], on_revoke=self._drop, on_lost=self._drop)
        while True:
            batch = self._collect()
            if batch:
                self._process(batch)

    def _collect(self) -> list[Message]:
        wanted = self._chance.randint(1, self._task.batch_records_max)
        self._batch = []
        while len(self._batch) < wanted:
            message = self._consumer.poll(0 if self._batch else POLL_SECONDS)
            if message is None:
                break
            error = message.error()
            if error is None:
                self._batch.append(message)
            elif error.fatal():
                raise KafkaException(error)
        return self._batch

    def _drop(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {partition.partition for partition in partitions}
        self._batch = [message for message in self._batch if message.partition() not in gone]

    def _process(self, batch: list[Message]) -> None:
        name = f"{self._task.name}/{self._transactions}"
        self._transactions += 1
        is_doomed = self._chance.random() < self._task.abort_share
        try:
            self._write(batch, name, is_doomed)
            if is_doomed:
                # What is still in the queue would never be sent, and nothing would be hidden.
                self._producer.flush(CALL_SECONDS_MAX)
                self._abort(batch)
                say(ABORTED_LINE, name)
            else:
                persist(lambda: self._producer.commit_transaction(CALL_SECONDS_MAX))
                say(COMMITTED_LINE, name)
        except KafkaException as failure:
            error = failure.args[0]
            # produce() says only that the state is wrong once an abort is due.
            if not error.txn_requires_abort() and error.code() != KafkaError._STATE:
                raise
            self._abort(batch)

    def _write(self, batch: list[Message], name: str, is_doomed: bool) -> None:
        self._producer.begin_transaction()
        for message in batch:
            number = int(message.value() or b"")
            result = Result(number, result_of(number), name, len(batch), is_doomed)
            self._producer.produce(
                self._task.output_topic,
                result.to_value(),
                partition=output_partition(number, self._task.partitions),
            )
        ends = self._offsets(batch, max)
        offsets = [TopicPartition(t.topic, t.partition, t.offset + 1) for t in ends]
        metadata = self._consumer.consumer_group_metadata()
        persist(
            lambda: self._producer.send_offsets_to_transaction(offsets, metadata, CALL_SECONDS_MAX)
        )

    def _abort(self, batch: list[Message]) -> None:
        persist(lambda: self._producer.abort_transaction(CALL_SECONDS_MAX))
        for start in self._offsets(batch, min):
            self._consumer.seek(start)

    def _offsets(
        self, batch: list[Message], choose: Callable[[list[int]], int]
    ) -> list[TopicPartition]:
        """The first or the last offset of the batch in each partition."""
        found: dict[int, list[int]] = {}
        for message in batch:
            found.setdefault(int(message.partition() or 0), []).append(int(message.offset() or 0))
        topic = self._task.input_topic
        return [TopicPartition(topic, number, choose(found[number])) for number in found]


def persist(call: Callable[[], Any]) -> None:
    """Make a call again for as long as its error says that this is right."""
    for _ in range(CALLS_MAX):
        try:
            call()
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise
        else:
            return
    raise TimeoutError(f"{CALLS_MAX} calls of {CALL_SECONDS_MAX:g} s did not come to an end")


def say(what: str, transaction: str) -> None:
    print(what, transaction, flush=True)


def main() -> int:
    try:
        Processor(Task.from_arguments(sys.argv[1:])).run()
    except (KafkaException, TimeoutError) as failure:
        print(f"cannot go on: {failure}", file=sys.stderr, flush=True)
    return BEGUN_AGAIN_STATUS


if __name__ == "__main__":
    sys.exit(main())
