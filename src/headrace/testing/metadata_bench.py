"""The metadata side of a broker over a simulated disk: store, settings, topics, producer ids.

``restart`` is a new process over what the old one left; ``background`` runs when told, or at once
through ``settle``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from headrace.broker.access import maybe_access_control
from headrace.broker.configurations import Configurations
from headrace.broker.credentials import Credentials
from headrace.broker.leftovers import clear_leftovers
from headrace.broker.metadata_store import MetadataStore
from headrace.broker.producer_ids import ProducerIds
from headrace.broker.quotas import Quotas
from headrace.broker.topic_changes import TopicChanges
from headrace.broker.topics import Topics
from headrace.coordination.metadata.topics import NewTopic
from headrace.frontends.kafka.context import RequestContext
from headrace.metrics.registry import Metrics
from headrace.security.acl import ANONYMOUS
from headrace.storage.log_manager import LogManager
from headrace.storage.metadata_log import SIZE_BYTES_MAX
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.simulated_background import SimulatedBackground
from headrace.testing.simulated_clock import SimulatedClock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.security.acl import Principal

DATA = "data"
NO_API_KEY = -1


class BenchContext(RequestContext):
    """Has a dictionary: a test may give it whatever else its handler asks for."""


class CountingChance:
    """Bytes that differ from call to call and are the same in every run."""

    def __init__(self) -> None:
        self._calls = 0

    def random_bytes(self, count: int) -> bytes:
        self._calls += 1
        return self._calls.to_bytes(count, "big")

    def random_float(self) -> float:
        return 0.5


class MetadataBench:
    """Everything is public: tests look into all of it."""

    def __init__(
        self, static: Mapping[str, str] | None = None, *, log_size_bytes_max: int = SIZE_BYTES_MAX
    ) -> None:
        self.disk = FaultyDisk()
        self.clock = SimulatedClock()
        self.chance = CountingChance()
        self.static = dict(static or {})
        self.log_size_bytes_max = log_size_bytes_max
        self.start()

    def start(self) -> None:
        """As the launcher does it."""
        self.background = SimulatedBackground(self.clock)
        self.store = MetadataStore(
            DATA,
            self.disk,
            self.clock,
            self.background,
            self.chance,
            configured_node_id=int(self.static.get("node.id", "1")),
            log_size_bytes_max=self.log_size_bytes_max,
        )
        self.configurations = Configurations(self.store, self.static)
        self.logs = LogManager(
            DATA, self.disk, self.clock, self.background, self.configurations.broker
        )
        self.topics = Topics()
        self.changes = TopicChanges(
            self.topics, self.store, self.logs, self.configurations, self.chance
        )
        self.leftovers = clear_leftovers(self.disk, DATA, self.store.state, self.store.removed)
        self.logs.open(self.changes.log_specs())
        self.changes.attach()
        self.producer_ids = ProducerIds(self.store)
        self.metrics = Metrics()
        self.quotas = Quotas(self.store, self.configurations.broker, self.clock, self.metrics)
        self.credentials = Credentials(self.store)
        self.access = maybe_access_control(
            self.store, self.clock, self.chance, self.configurations.broker
        )
        self.settle()

    def restart(self, *, clean: bool = True, power_loss: bool = False) -> None:
        """Stop, by intention or not, and start again over the same directory."""
        if clean:
            self.settle()
            self.logs.close()
            self.store.close()
        if power_loss:
            self.disk.crash()
        else:
            self.disk.kill()
        self.start()

    def settle(self) -> None:
        """Let the background finish."""
        self.background.run_all()

    def create(self, name: str, partition_count: int = 1, **overrides: str) -> None:
        """Settings as keywords: ``retention_ms="5"``."""
        settings = {key.replace("_", "."): value for key, value in overrides.items()}
        self.changes.create(NewTopic(name, partition_count, 1, settings))

    def context(self, version: int, principal: Principal = ANONYMOUS) -> Any:
        """What a Kafka handler gets beside its request."""
        broker = SimpleNamespace(
            store=self.store,
            cluster=self.store.cluster,
            configurations=self.configurations,
            config=self.configurations.broker,
            topics=self.topics,
            topic_changes=self.changes,
            logs=self.logs,
            producer_ids=self.producer_ids,
            clock=self.clock,
            chance=self.chance,
            credentials=self.credentials,
            quotas=self.quotas,
            access=self.access,
        )
        listener = SimpleNamespace(host="broker.example", port=9092)
        session: Any = SimpleNamespace(
            advertised=listener, peer_host="127.0.0.1", principal=principal
        )
        any_broker: Any = broker
        return BenchContext(session, any_broker, NO_API_KEY, version, None)
