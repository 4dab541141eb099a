"""The broker as front ends see it: one object with one door per use case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.broker.access import AccessControl
    from headrace.broker.cluster_info import ClusterInfo
    from headrace.broker.configurations import Configurations
    from headrace.broker.credentials import Credentials
    from headrace.broker.features import Features
    from headrace.broker.fetch import Fetching
    from headrace.broker.groups import Groups
    from headrace.broker.metadata_store import MetadataStore
    from headrace.broker.produce import Producing
    from headrace.broker.producer_ids import ProducerIds
    from headrace.broker.quotas import Quotas
    from headrace.broker.topic_changes import TopicChanges
    from headrace.broker.topics import Topics
    from headrace.broker.transactions import Transactions
    from headrace.config.broker import BrokerConfig
    from headrace.environment.ports import Chance, Clock
    from headrace.metrics.registry import Metrics
    from headrace.storage.log_manager import LogManager


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """Built by the launcher; holds the parts and does nothing itself."""

    store: MetadataStore
    configurations: Configurations
    features: Features
    topics: Topics
    topic_changes: TopicChanges
    logs: LogManager
    producing: Producing
    fetching: Fetching
    producer_ids: ProducerIds
    groups: Groups
    transactions: Transactions
    metrics: Metrics
    clock: Clock
    chance: Chance
    credentials: Credentials
    quotas: Quotas
    access: AccessControl | None = None
    """Who may do what; None lets everybody do everything."""

    @property
    def config(self) -> BrokerConfig:
        """The settings in force now; they may change while the broker runs."""
        return self.configurations.broker

    @property
    def cluster(self) -> ClusterInfo:
        return self.store.cluster
