"""The door to consumer groups: which shard a group belongs to, and how to ask it.

The state of all groups lives in the partitions of one compacted topic, made on first use and read
as ``shard_loading`` says.
"""

from __future__ import annotations

import logging
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from headrace.broker.group_shards import GroupShard, SteadyClock
from headrace.broker.shard_loading import ShardLoader
from headrace.broker.topics import TopicEvent
from headrace.coordination.groups.commands import (
    CommitOffsets,
    DeleteGroup,
    DescribeGroup,
    FetchOffsets,
    ForgetTopic,
    ListGroups,
)
from headrace.coordination.groups.consumer_topics import TopicCatalogue
from headrace.coordination.groups.record_codecs import NAME_BYTES_MAX
from headrace.coordination.groups.registry import GroupRegistry, GroupSettings
from headrace.metrics.registry import GroupSample, LagSample
from headrace.model.errors import (
    CoordinatorLoading,
    CoordinatorNotAvailable,
    HeadraceError,
    InvalidGroupId,
    NotCoordinator,
)
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TopicPartition
from headrace.storage.metadata_files import new_uuid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.broker.configurations import Configurations
    from headrace.broker.topic_changes import TopicChanges
    from headrace.broker.topics import Partition, Topic, TopicChange, Topics
    from headrace.config.broker import BrokerConfig
    from headrace.environment.ports import Background, Chance, Clock
    from headrace.storage.log_manager import LogManager

log = logging.getLogger(__name__)

PLACES_REMEMBERED_MAX = 65_536

_MAY_BE_NAMELESS = (CommitOffsets, FetchOffsets, DescribeGroup, DeleteGroup)
"""The empty group id is one of old consumers without a group: it can hold offsets, not members."""


class Groups:
    """All groups of this broker."""

    def __init__(
        self,
        topics: Topics,
        changes: TopicChanges,
        logs: LogManager,
        configurations: Configurations,
        clock: Clock,
        background: Background,
        chance: Chance,
    ) -> None:
        self._topics = topics
        self._changes = changes
        self._logs = logs
        self._config = configurations.broker
        self._background = background
        self._chance = chance
        self._clock = SteadyClock(clock)
        self._settings = group_settings(configurations.broker)
        self._catalogue = TopicCatalogue()
        self._shards: list[GroupShard] = []
        self._loader = ShardLoader(background, _nobody_waits)
        self._is_closed = False

    def start(self) -> None:
        for topic in self._topics:
            self._catalogue.put(topic.name, topic.id, len(topic.partitions))
        self._topics.on_change(self._topic_changed)
        topic_of_groups = self._topics.get(CONSUMER_OFFSETS_TOPIC)
        if topic_of_groups is not None:
            self._open(topic_of_groups)

    def close(self) -> None:
        self._is_closed = True
        self._drop_shards(NotCoordinator("the broker stops"))

    # --- asking ---------------------------------------------------------------------------------

    def submit(self, group_id: str, command: Any, reply_to: Callable[[Any], None]) -> None:
        """Ask the group's shard. ``reply_to`` is called once, now or later, with the answer or
        with the HeadraceError that refuses it."""
        try:
            if not group_id and not isinstance(command, _MAY_BE_NAMELESS):
                raise InvalidGroupId("the group id must not be empty")
            shard = self._shard_of(group_id)
        except HeadraceError as error:
            reply_to(error)
            return
        shard.submit(command, reply_to)

    def list_groups(self, command: ListGroups, reply_to: Callable[[Any], None]) -> None:
        """Answered with the groups of all shards; an error while one of them is loading."""
        if not self._loader.is_done:
            reply_to(CoordinatorLoading("not all groups are known yet"))
            return
        collected: list[Any] = []
        answers = 0

        def collect(reply: Any) -> None:
            nonlocal answers
            answers += 1
            collected.append(reply)
            if answers == len(shards):
                failed = next((r for r in collected if isinstance(r, HeadraceError)), None)
                reply_to(failed or [listed for reply in collected for listed in reply])

        shards = list(self._shards)
        if not shards:
            reply_to([])
        for shard in shards:
            shard.submit(command, collect)

    def prepare(self, group_id: str) -> None:
        """See to it that the group has a coordinator: this broker. Raises if it cannot be."""
        if not group_id:
            raise InvalidGroupId("the group id must not be empty")
        self._ensure_open()

    def partition_of_group(self, group_id: str) -> TopicPartition:
        """Where the group lives; the groups' topic is made if it is not there. Raises if the id is
        illegal, or the topic cannot be made."""
        if not group_id:
            raise InvalidGroupId("the group id must not be empty")
        _raise_if_too_long(group_id)
        self._ensure_open()
        return TopicPartition(CONSUMER_OFFSETS_TOPIC, partition_of(group_id, len(self._shards)))

    def transaction_ended(
        self, partition_index: int, producer_id: int, producer_epoch: int, is_commit: bool
    ) -> None:
        """A marker has just been appended to this partition of the groups' topic, and nothing
        since: offsets that the producer committed in its transaction count now, or never will."""
        if partition_index >= len(self._shards):
            return  # the broker stops: it is found in the log at the next start
        log.debug(
            "partition %d: the transaction of producer %d at epoch %d has ended, committed: %s",
            partition_index,
            producer_id,
            producer_epoch,
            is_commit,
        )
        self._shards[partition_index].transaction_ended(producer_id, is_commit)

    def _shard_of(self, group_id: str) -> GroupShard:
        _raise_if_too_long(group_id)
        self._ensure_open()
        shard = self._shards[partition_of(group_id, len(self._shards))]
        if shard.is_loading:
            self._loader.prefer(shard)
        return shard

    # --- shards ---------------------------------------------------------------------------------

    def _ensure_open(self) -> None:
        if self._is_closed:
            raise NotCoordinator("the broker stops")
        if self._shards:
            return
        overrides = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(self._config.offsets_topic_segment_bytes),
        }
        try:
            topic = self._changes.ensure_internal_topic(
                CONSUMER_OFFSETS_TOPIC, self._config.offsets_topic_num_partitions, overrides
            )
        except HeadraceError as error:
            raise CoordinatorNotAvailable(f"the groups' topic cannot be made: {error}") from error
        if not self._shards:
            self._open(topic)

    def _open(self, topic: Topic) -> None:
        self._shards = [
            GroupShard(
                partition.log,
                GroupRegistry(self._settings, self._new_id, partial(_batch_bytes_max, partition)),
                self._catalogue,
                self._logs,
                self._clock,
                self._background,
            )
            for partition in topic.partitions
        ]
        self._loader.start(self._shards)

    def _drop_shards(self, reason: HeadraceError) -> None:
        shards, self._shards = self._shards, []
        self._loader.stop()
        for shard in shards:
            shard.close(reason)

    def _new_id(self) -> str:
        return str(UUID(bytes=new_uuid(self._chance)))

    def _topic_changed(self, change: TopicChange) -> None:
        topic = change.topic
        if change.event is not TopicEvent.DELETED:
            self._catalogue.put(topic.name, topic.id, len(topic.partitions))
            return
        self._catalogue.remove(topic.name)
        if topic.name == CONSUMER_OFFSETS_TOPIC:
            log.warning("%s was deleted, and with it all groups", topic.name)
            self._drop_shards(NotCoordinator("the groups' topic was deleted"))
        for shard in self._shards:
            shard.submit_when_loaded(ForgetTopic(topic.name))

    # --- metrics --------------------------------------------------------------------------------

    def group_samples(self) -> Iterator[GroupSample]:
        for shard in self._shards:
            for group in shard.registry.groups.values():
                yield GroupSample(group.group_id, group.kind, len(group.members))

    def lag_samples(self) -> Iterator[LagSample]:
        for shard in self._shards:
            offsets = shard.registry.offsets
            for group_id in offsets.group_ids():
                for address, committed in offsets.of_group(group_id).items():
                    partition = self._topics.partition(*address)
                    if partition is not None:
                        lag = max(partition.log.high_watermark - committed.offset, 0)
                        yield LagSample(group_id, *address, committed.offset, lag)


def group_settings(config: BrokerConfig) -> GroupSettings:
    return GroupSettings(
        session_timeout_ms_min=config.group_min_session_timeout_ms,
        session_timeout_ms_max=config.group_max_session_timeout_ms,
        initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        classic_size_max=config.group_max_size,
        offset_metadata_bytes_max=min(config.offset_metadata_max_bytes, NAME_BYTES_MAX),
        offsets_retention_ms=config.offsets_retention_minutes * 60_000,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        consumer_session_timeout_ms=config.group_consumer_session_timeout_ms,
        consumer_heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
        consumer_size_max=config.group_consumer_max_size,
        consumer_assignors=config.group_consumer_assignors,
    )


def _batch_bytes_max(partition: Partition) -> int:
    return partition.log.config.max_message_bytes


def _raise_if_too_long(group_id: str) -> None:
    if len(group_id) > NAME_BYTES_MAX or len(group_id.encode()) > NAME_BYTES_MAX:
        raise InvalidGroupId(f"a group id has at most {NAME_BYTES_MAX} bytes")


def _nobody_waits() -> None:
    """Commands are refused until their own shard is loaded, and nothing waits for all of them."""


@lru_cache(maxsize=PLACES_REMEMBERED_MAX)
def partition_of(group_id: str, partition_count: int) -> int:
    """As Kafka places groups: Java's hash of the text, over its UTF-16 units, without the sign."""
    units = group_id.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFF_FFFF
    # The one number whose positive twin does not exist counts as 0 (Utils.abs).
    magnitude = 0 if value == 0x8000_0000 else min(value, 2**32 - value)
    return magnitude % partition_count
