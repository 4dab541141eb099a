"""The one place that knows all parts of a broker: builds them, starts them, stops them in reverse
order."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import uvloop

from headrace.broker.access import maybe_access_control
from headrace.broker.broker import Broker
from headrace.broker.configurations import Configurations
from headrace.broker.credentials import Credentials
from headrace.broker.features import Features
from headrace.broker.fetch import Fetching
from headrace.broker.groups import Groups
from headrace.broker.leftovers import clear_leftovers
from headrace.broker.metadata_store import MetadataStore
from headrace.broker.produce import Producing
from headrace.broker.producer_ids import ProducerIds
from headrace.broker.quotas import Quotas
from headrace.broker.topic_changes import TopicChanges
from headrace.broker.topics import Topics
from headrace.broker.transactions import Transactions
from headrace.broker.waiting import WaitingRoom
from headrace.config.broker import BrokerConfig
from headrace.environment.real import LoopBackground, RealChance, RealClock, RealDisk
from headrace.frontends.kafka.listener import KafkaListener
from headrace.metrics.registry import Metrics
from headrace.model.errors import AddressInUse, HeadraceError
from headrace.server.directory_lock import DirectoryLock
from headrace.server.housekeeping import Housekeeping
from headrace.server.samples import connect_samples
from headrace.server.schema_registry import Registry
from headrace.server.table_topics import TableTopics, local_bootstrap
from headrace.storage.log_manager import LogManager

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from headrace.config.listeners import Listener
    from headrace.config.serve import ServeSettings
    from headrace.frontends.http.basic_log_in import BasicLogIn
    from headrace.frontends.http.listener import HttpListener

log = logging.getLogger(__name__)

EXIT_OK = 0
EXIT_FAILED = 1
SETTLE_SECONDS_MAX = 30.0
COLLECTOR_THRESHOLDS = (20_000, 20, 20)
"""New objects before a look at the young ones; looks before one at the older, and at all."""


class Server:
    """One broker with its listeners. Must be used inside a running loop."""

    broker: Broker
    _background: LoopBackground

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        self._listeners: list[tuple[Listener, KafkaListener | HttpListener]] = []
        self._undo: list[Callable[[], Awaitable[None] | None]] = []
        self._registry: Registry | None = None

    async def start(self) -> None:
        """Bring everything up; on failure nothing is left running after ``stop``."""
        started = perf_counter()
        lock = DirectoryLock(self.settings.data_directory)
        self._undo.append(lock.release)
        self.broker = self._build()
        await self._metadata_durable()
        for listener in self.settings.listeners:
            await self._listen(listener)
        self._keep_tables()
        log.info("ready after %.2f s", perf_counter() - started)

    def _keep_tables(self) -> None:
        """Last of all to start, and first to stop: its process is a client of this broker."""
        doors = [(listener, door.port) for listener, door in self._listeners]
        has_config = self.broker.config.table_client_config is not None
        bootstrap = local_bootstrap(doors, has_client_config=has_config)
        tables = TableTopics(self.broker, self._background, bootstrap)
        self._undo.append(tables.stop)
        self.metrics.table_topics = lambda: tables.topic_count
        self.metrics.table_processes = lambda: int(tables.is_running)
        self.metrics.table_process_restarts = lambda: tables.restarts
        tables.start()

    async def _metadata_durable(self) -> None:
        """Wait for what the start has written. The first producer ids are among it: a client that
        comes at once need not be told to try again."""
        durable = asyncio.Event()
        self.broker.store.when_durable(lambda _: durable.set())
        await durable.wait()

    def _build(self) -> Broker:
        clock, disk, chance = RealClock(), RealDisk(), RealChance()
        directory = self.settings.data_directory
        # As an absolute path: readers of segments ask for it by DescribeConfigs.
        log_directories = {"log.dirs": str(Path(directory).absolute())}
        static = BrokerConfig.resolve({**self.settings.broker_settings, **log_directories})
        background = LoopBackground(asyncio.get_running_loop(), threads=static.background_threads)
        self._background = background
        self._undo.append(background.close)
        store = MetadataStore(
            directory,
            disk,
            clock,
            background,
            chance,
            configured_node_id=static.node_id,
        )
        self._undo += [store.close, lambda: _settle(background)]
        configurations = Configurations(store, static.layers.static)
        logs = LogManager(
            directory, disk, clock, background, configurations.broker, self.metrics.storage
        )
        topics = Topics()
        changes = TopicChanges(topics, store, logs, configurations, chance)
        notices = clear_leftovers(disk, directory, store.state, store.removed)
        report = logs.open(changes.log_specs())
        self._undo += [logs.close, lambda: _settle(background)]
        changes.attach()
        # A log that was cut begins a new epoch, so that readers who saw more notice it (KIP-320).
        changes.advance_leader_epochs([r.partition for r in report.details if r.cut_bytes])
        log.info("%s", report)
        notices = [*report.lines(), *store.notices, *_settings_notices(configurations), *notices]
        for sentence in notices:
            log.warning("%s", sentence)
        waiting = WaitingRoom(background)
        groups = Groups(topics, changes, logs, configurations, clock, background, chance)
        features, producer_ids = Features(store), ProducerIds(store)
        transactions = Transactions(
            topics,
            changes,
            logs,
            configurations,
            features,
            producer_ids,
            groups,
            clock,
            background,
            self.metrics.transactions,
        )
        broker = Broker(
            store=store,
            configurations=configurations,
            features=features,
            topics=topics,
            topic_changes=changes,
            logs=logs,
            producing=Producing(logs, self.metrics),
            fetching=Fetching(waiting, clock, configurations.broker.parked_fetches_max),
            producer_ids=producer_ids,
            groups=groups,
            transactions=transactions,
            metrics=self.metrics,
            clock=clock,
            chance=chance,
            credentials=Credentials(store),
            quotas=Quotas(store, configurations.broker, clock, self.metrics),
            access=maybe_access_control(store, clock, chance, configurations.broker),
        )
        self._start_parts(broker, waiting, background)
        return broker

    def _start_parts(
        self, broker: Broker, waiting: WaitingRoom, background: LoopBackground
    ) -> None:
        broker.groups.start()
        self._undo.append(broker.groups.close)
        broker.transactions.start()
        self._undo.append(broker.transactions.close)
        housekeeping = Housekeeping(broker, background)
        housekeeping.start()
        connect_samples(self.metrics, broker, waiting, housekeeping)
        self.metrics.fetch_sessions = self._count_fetch_sessions
        self._undo.append(housekeeping.stop)

    async def _listen(self, listener: Listener) -> None:
        door: KafkaListener | HttpListener
        if listener.scheme == "http":
            from headrace.frontends.http.listener import HttpListener
            from headrace.metrics.exposition import Exposition

            exposition = Exposition(self.metrics, version("headrace"))
            application = self._schema_registry().application
            door = HttpListener(
                listener.host, listener.port, exposition.render, application, self._log_in(listener)
            )
        else:
            door = KafkaListener(self.broker, listener)
        try:
            await door.start()
        except AddressInUse as error:
            if not listener.is_optional:
                raise
            log.warning("%s is left out: %s", listener.url(), error.message)
            return
        self._undo.append(door.stop)
        self._listeners.append((listener, door))

    def _log_in(self, listener: Listener) -> BasicLogIn | None:
        """How people log in at an HTTP listener; None if they need not."""
        if not listener.uses_basic:
            return None
        from headrace.frontends.common.known_users import KnownUsers
        from headrace.frontends.http.basic_log_in import BasicLogIn

        broker, security = self.broker, listener.security
        users = KnownUsers(security.sasl_users, broker.credentials, broker.chance)
        delay_ms = security.connection_failed_authentication_delay_ms
        return BasicLogIn(users, broker.clock, broker.chance, delay_ms)

    def _schema_registry(self) -> Registry:
        """One for all HTTP listeners, made for the first."""
        if self._registry is None:
            self._registry = Registry(self.broker, self._background)
            self._registry.start()
            self._undo.append(self._registry.close)
        return self._registry

    def _count_fetch_sessions(self) -> int:
        return sum(
            len(door.fetch_sessions)
            for _, door in self._listeners
            if isinstance(door, KafkaListener)
        )

    def port_of(self, kind: str) -> int:
        """The port of the first listener with this name, this scheme, or at this front door."""
        return next(
            door.port
            for listener, door in self._listeners
            if kind in (listener.name, listener.scheme, listener.door)
        )

    def urls(self) -> list[str]:
        return [listener.url(door.port) for listener, door in self._listeners]

    async def stop(self) -> None:
        """Undo what was started, last first; a part that fails does not keep the others."""
        failure: Exception | None = None
        while self._undo:
            try:
                outcome = self._undo.pop()()
                if outcome is not None:
                    await outcome
            except HeadraceError as error:
                log.error("not a clean stop, the next start will check the logs: %s", error.message)
                failure = failure or error
            except Exception as error:
                log.exception("a part could not be stopped")
                failure = failure or error
        if failure is not None:
            raise failure


def _settings_notices(configurations: Configurations) -> list[str]:
    return [*configurations.unused_settings(), *configurations.settings_without_effect()]


async def _settle(background: LoopBackground) -> None:
    """Let work in threads come to its end before what it works on is closed."""
    deadline = perf_counter() + SETTLE_SECONDS_MAX
    while background.pending and perf_counter() < deadline:  # noqa: ASYNC110 (it counts, no event)
        await asyncio.sleep(0.001)


def run(settings: ServeSettings, announce: Callable[[list[str]], None]) -> int:
    """Serve until a signal comes; the exit status says how it ended.

    ``announce`` is called with the URLs of all listeners once clients can connect.
    """
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(settings, announce))
    except HeadraceError as error:
        print(f"headrace: {error.message}", file=sys.stderr)
        return EXIT_FAILED
    return EXIT_OK


def _calm_the_collector() -> None:
    """Reference counts free nearly all we make; what is left are cycles, few and small.

    What is alive now stays alive, so the collector need not look at it again. Parked requests
    live for half a second by the thousand: with Python's own threshold of 700 objects they were
    looked at over and over, which was a third of an idle broker's work.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTOR_THRESHOLDS)


async def _serve(settings: ServeSettings, announce: Callable[[list[str]], None]) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = Server(settings)
    try:
        await server.start()
        _calm_the_collector()
        announce(server.urls())
        await stop.wait()
        log.info("stopping")
    finally:
        await server.stop()
    log.info("stopped cleanly")
