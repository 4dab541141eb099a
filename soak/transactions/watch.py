"""What can be asked of the broker about the pipeline: how far it is, and whether all has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from soak.clients import ANSWER_SECONDS_MAX, client_settings
from soak.transactions.task import GROUP, INPUT_TOPIC, OUTPUT_TOPIC, PARTITIONS

if TYPE_CHECKING:
    from soak.administrator import Administrator

ASK_SECONDS_MAX = 2.0


class Progress:
    """How many inputs are done: the committed offsets of the group."""

    def __init__(self, bootstrap_servers: str) -> None:
        # read_uncommitted: an offset that is pending must not make this question wait.
        settings = client_settings(
            bootstrap_servers, group_id=GROUP, isolation_level="read_uncommitted"
        )
        self._consumer = Consumer(settings)
        self._partitions = [TopicPartition(INPUT_TOPIC, number) for number in range(PARTITIONS)]
        self.records = 0

    def look(self) -> int:
        """The last known number while the broker does not answer."""
        try:
            committed = self._consumer.committed(self._partitions, ASK_SECONDS_MAX)
        except KafkaException:
            return self.records
        offsets = [partition.offset for partition in committed if partition.error is None]
        self.records = max(self.records, sum(offset for offset in offsets if offset > 0))
        return self.records

    def close(self) -> None:
        self._consumer.close()


def output_ends(administrator: Administrator) -> dict[int, tuple[int, int]]:
    """Of each partition of the output: up to where it is stable, and its end."""
    stable = _ends(administrator, IsolationLevel.READ_COMMITTED)
    ends = _ends(administrator, IsolationLevel.READ_UNCOMMITTED)
    return {number: (stable[number], ends[number]) for number in ends}


def _ends(administrator: Administrator, level: IsolationLevel) -> dict[int, int]:
    latest = {
        TopicPartition(OUTPUT_TOPIC, number): OffsetSpec.latest()  # type: ignore[no-untyped-call]
        for number in range(PARTITIONS)
    }
    futures = administrator.client.list_offsets(
        latest, isolation_level=level, request_timeout=ANSWER_SECONDS_MAX
    )
    return {
        partition.partition: future.result(ANSWER_SECONDS_MAX).offset
        for partition, future in futures.items()
    }
