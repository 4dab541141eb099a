"""The door to transactions: which shard a transactional id belongs to, and how to ask it.

The state of all transactions lives in the partitions of one compacted topic, made on first use and
read as ``shard_loading`` says. Whoever writes within a transaction asks ``enlist`` first.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.broker.group_shards import SteadyClock
from headrace.broker.groups import partition_of
from headrace.broker.hanging_transactions import HangingTransactions
from headrace.broker.shard_loading import ShardLoader
from headrace.broker.topics import TopicEvent
from headrace.broker.transaction_markers import TransactionMarkers
from headrace.broker.transaction_shards import PARTITIONS_MAX, TransactionShard
from headrace.coordination.groups.patterns import raise_if_invalid_pattern
from headrace.coordination.metadata.features import TRANSACTION_VERSION
from headrace.coordination.transactions.commands import (
    AddPartitions,
    ListedTransactions,
    VerifyPartitions,
)
from headrace.coordination.transactions.record_codec import NAME_BYTES_MAX
from headrace.coordination.transactions.records import EPOCH_BUMP_VERSION
from headrace.coordination.transactions.registry import TransactionRegistry, TransactionSettings
from headrace.coordination.transactions.states import (
    AT_REST,
    PREPARED,
    STATES_BY_TITLE,
    TransactionState,
)
from headrace.metrics.registry import OpenTransactions
from headrace.model.errors import (
    CoordinatorLoading,
    CoordinatorNotAvailable,
    HeadraceError,
    InvalidRequest,
    NotCoordinator,
)
from headrace.model.topic import TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.broker.configurations import Configurations
    from headrace.broker.features import Features
    from headrace.broker.producer_ids import ProducerIds
    from headrace.broker.topic_changes import TopicChanges
    from headrace.broker.topics import Topic, TopicChange, Topics
    from headrace.broker.transaction_markers import GroupListener
    from headrace.config.broker import BrokerConfig
    from headrace.coordination.transactions.commands import ListTransactions, ProducerIdentity
    from headrace.environment.ports import Background, Clock
    from headrace.metrics.registry import TransactionCounters
    from headrace.model.topic import TopicPartition
    from headrace.storage.log_manager import LogManager

log = logging.getLogger(__name__)

_SHOWN_AS_OPEN = PREPARED | {TransactionState.ONGOING}
"""Prepared ones are of Kafka's making: here a transaction ends in one step."""


_NAME_LENGTH_SURE = NAME_BYTES_MAX // 4
"""So many characters fit, whatever they are: none takes more than four bytes."""


class Transactions:
    """All transactional ids of this broker."""

    def __init__(
        self,
        topics: Topics,
        changes: TopicChanges,
        logs: LogManager,
        configurations: Configurations,
        features: Features,
        producer_ids: ProducerIds,
        groups: GroupListener,
        clock: Clock,
        background: Background,
        counters: TransactionCounters,
    ) -> None:
        self._topics = topics
        self._changes = changes
        self._logs = logs
        self._config = configurations.broker
        self._features = features
        self._producer_ids = producer_ids
        self._background = background
        self._counters = counters
        self._clock = SteadyClock(clock)
        self._settings = transaction_settings(configurations.broker)
        self._markers = TransactionMarkers(topics, groups)
        self.hanging = HangingTransactions(topics, logs, groups, self._clock, self._is_coordinated)
        self._shards: list[TransactionShard] = []
        self._loader = ShardLoader(background, self._loaded)
        self._is_closed = False

    def start(self) -> None:
        """After the groups: a transaction that ends at once ends for them, too."""
        self._topics.on_change(self._topic_changed)
        topic = self._topics.get(TRANSACTION_STATE_TOPIC)
        if topic is None:
            self._loaded()
        else:
            self._open(topic)

    def close(self) -> None:
        self._is_closed = True
        self._drop_shards()

    @property
    def version(self) -> int:
        """The level of the feature ``transaction.version`` that is in force."""
        return self._features.level(TRANSACTION_VERSION)

    # --- asking ---------------------------------------------------------------------------------

    def submit(self, transactional_id: str, command: Any, reply_to: Callable[[Any], None]) -> None:
        """Ask the shard of this id. ``reply_to`` is called once, now or later, with the answer or
        with the HeadraceError that refuses it."""
        try:
            shard = self._shard_of(transactional_id)
        except HeadraceError as error:
            reply_to(error)
            return
        shard.submit(command, reply_to)

    def enlist(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: frozenset[TopicPartition],
        client_version: int,
    ) -> dict[TopicPartition, HeadraceError]:
        """Before something is written: the partitions that are not part of the transaction, each
        with the reason. Raises what refuses all of them.

        A client of version 2 has all its partitions added, which opens the transaction if none is
        open (KIP-890); an older one must have added them before.
        """
        shard = self._shard_of(transactional_id)
        if shard.holds(transactional_id, producer, partitions):
            return {}
        if client_version >= EPOCH_BUMP_VERSION:
            shard.decide_now(AddPartitions(transactional_id, producer, partitions, client_version))
            return {}
        verified = shard.decide_now(VerifyPartitions(transactional_id, producer, partitions))
        return {address: error for address, error in verified.items() if error is not None}

    def list_transactions(self, command: ListTransactions, reply_to: Callable[[Any], None]) -> None:
        """Answered with ListedTransactions of all shards; an error while one is loading."""
        if not self._loader.is_done:
            reply_to(CoordinatorLoading("not all transactions are known yet"))
            return
        try:
            raise_if_invalid_pattern(command.pattern or "")
        except HeadraceError as error:
            reply_to(error)
            return
        replies: list[Any] = []
        shards = list(self._shards)

        def collect(reply: Any) -> None:
            replies.append(reply)
            if len(replies) == len(shards):
                reply_to(_merged(command, replies))

        if not shards:
            reply_to(_merged(command, ()))
        for shard in shards:
            shard.submit(command, collect)

    def prepare(self, transactional_id: str) -> None:
        """See to it that the id has a coordinator: this broker. Raises if it cannot be."""
        if not transactional_id:
            raise InvalidRequest("a transactional id must not be empty")
        self._ensure_open()

    def when_durable(
        self, commit_number: int, callback: Callable[[BaseException | None], None]
    ) -> None:
        self._logs.when_durable(commit_number, callback)

    def _shard_of(self, transactional_id: str) -> TransactionShard:
        if len(transactional_id) > _NAME_LENGTH_SURE:
            _raise_if_too_long(transactional_id)
        if self._is_closed or not self._shards:
            self._ensure_open()
        shard = self._shards[partition_of(transactional_id, len(self._shards))]
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
            "compression.type": "uncompressed",
            "segment.bytes": str(self._config.transaction_state_log_segment_bytes),
        }
        try:
            topic = self._changes.ensure_internal_topic(
                TRANSACTION_STATE_TOPIC,
                self._config.transaction_state_log_num_partitions,
                overrides,
            )
        except HeadraceError as error:
            raise CoordinatorNotAvailable(
                f"the transactions' topic cannot be made: {error}"
            ) from error
        if not self._shards:
            self._open(topic)

    def _open(self, topic: Topic) -> None:
        self._shards = [
            TransactionShard(
                partition.log,
                TransactionRegistry(
                    self._settings,
                    self._producer_ids.allocate,
                    partial(self._features.level, TRANSACTION_VERSION),
                ),
                self._markers,
                self._logs,
                self._clock,
                self._background,
                self._counters,
            )
            for partition in topic.partitions
        ]
        self._loader.start(self._shards)

    def _loaded(self) -> None:
        """All that is coordinated is known, so whatever else is open belongs to nobody."""
        if not self._is_closed:
            self.hanging.abort_all()

    def _is_coordinated(self, producer_id: int, address: TopicPartition) -> bool:
        return any(
            transaction.producer_id == producer_id
            and transaction.state not in AT_REST
            and address in transaction.partitions
            for shard in self._shards
            for transaction in shard.registry.transactions.values()
        )

    def _drop_shards(self) -> None:
        shards, self._shards = self._shards, []
        self._loader.stop()
        for shard in shards:
            shard.close()

    def _topic_changed(self, change: TopicChange) -> None:
        is_ours = change.topic.name == TRANSACTION_STATE_TOPIC
        if is_ours and change.event is TopicEvent.DELETED:
            log.warning("%s was deleted, and with it all transactions", change.topic.name)
            self._drop_shards()
            self._loaded()

    # --- metrics --------------------------------------------------------------------------------

    def open_transactions(self) -> OpenTransactions:
        """Those that are known: a shard that is still loading may hold more."""
        by_state = {state.title: 0 for state in TransactionState if state in _SHOWN_AS_OPEN}
        oldest_ms = now_ms = self._clock.now_ms()
        for shard in self._shards:
            for transaction in shard.registry.transactions.values():
                if transaction.state not in AT_REST:
                    by_state[transaction.state.title] += 1
                    oldest_ms = min(oldest_ms, transaction.start_ms)
        return OpenTransactions(by_state, (now_ms - oldest_ms) / 1000)


def _merged(
    command: ListTransactions, replies: Sequence[Any]
) -> ListedTransactions | HeadraceError:
    failed = next((reply for reply in replies if isinstance(reply, HeadraceError)), None)
    if failed is not None:
        return failed
    unknown_states = tuple(sorted(command.states - STATES_BY_TITLE.keys()))
    return ListedTransactions(
        unknown_states, tuple(listed for reply in replies for listed in reply.transactions)
    )


def _raise_if_too_long(transactional_id: str) -> None:
    size_max = NAME_BYTES_MAX
    if len(transactional_id) > size_max or len(transactional_id.encode()) > size_max:
        raise InvalidRequest(f"a transactional id has at most {size_max} bytes")


def transaction_settings(config: BrokerConfig) -> TransactionSettings:
    return TransactionSettings(
        timeout_ms_max=config.transaction_max_timeout_ms,
        id_expiration_ms=config.transactional_id_expiration_ms,
        id_expiration_check_interval_ms=(
            config.transaction_remove_expired_transaction_cleanup_interval_ms
        ),
        partitions_max=PARTITIONS_MAX,
    )
