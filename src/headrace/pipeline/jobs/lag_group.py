"""A job's positions, shown as the offsets of a consumer group.

Nothing reads them back: the truth is in the table and the checkpoint. They are there so that
``headrace group describe`` and the lag metrics show a job beside all other readers.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.pipeline.client_settings import librdkafka_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.pipeline.jobs.progress import Positions

log = logging.getLogger(__name__)

ANSWER_SECONDS_MAX = 10.0
TABLE_GROUP_PREFIX = "headrace-table-"


def table_group(topic: str) -> str:
    """The group of a table topic."""
    return f"{TABLE_GROUP_PREFIX}{topic}"


class LagGroup:
    """Writes positions as committed offsets of a group without members."""

    def __init__(self, group: str, settings: Mapping[str, str], admin: Any = None) -> None:
        """``settings`` are a Kafka client's; ``admin`` is for tests."""
        self._group = group
        self._settings = dict(settings)
        self._admin = admin
        self._written: Positions = {}

    def write(self, positions: Positions) -> None:
        """Those that have changed. A failure is logged: no job ends because of what it shows."""
        from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

        changed = [
            TopicPartition(topic, int(partition), offset)
            for topic, partitions in positions.items()
            for partition, offset in partitions.items()
            if self._written.get(topic, {}).get(partition) != offset
        ]
        if not changed:
            return
        request = ConsumerGroupTopicPartitions(self._group, changed)
        try:
            future = self._client().alter_consumer_group_offsets([request])[self._group]
            answer = future.result(timeout=ANSWER_SECONDS_MAX)
        except (KafkaException, TimeoutError) as error:
            log.warning("the lag of group %s is not shown: %s", self._group, error)
            return
        refused = [place for place in answer.topic_partitions if place.error is not None]
        if refused:
            log.warning("the lag of group %s is not shown: %s", self._group, refused[0].error)
            return
        self._written = {topic: dict(offsets) for topic, offsets in positions.items()}

    def _client(self) -> Any:
        if self._admin is None:
            from confluent_kafka.admin import AdminClient

            settings: dict[str, Any] = {**librdkafka_settings(self._settings, "admin")}
            self._admin = AdminClient(settings)
        return self._admin
