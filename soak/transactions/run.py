"""The pipeline under kills: broker and processors die at random moments while it works.

The moments are spread over the work, not over time: a fast broker is killed as often as a slow one,
and the input comes in parts, so that none is killed when all is done.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, Producer

from bench.peers import HEADRACE, HeadracePeer, KafkaPeer
from headrace.testing.history_transactions import PipelineHistory
from soak.administrator import Administrator
from soak.clients import ClientStuck, as_bytes, client_settings
from soak.topics import plain
from soak.transactions.crew import Crew
from soak.transactions.generation import FEATURE, SECOND_GENERATION, transaction_version
from soak.transactions.programs import processor_command, read_with_java
from soak.transactions.task import INPUT_TOPIC, OUTPUT_TOPIC, PARTITIONS, TRANSACTION_TIMEOUT_MS
from soak.transactions.watch import Progress, output_ends
from soak.whole_topic import read_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench.peers import Peer, PeerName
    from headrace.testing.history import Report
    from soak.transactions.programs import Client
    from soak.transactions.task import Task

PROCESSORS = 3
BROKER_EVERY_KILLS = 3
BOTH_SHARE = 0.3
"""Of the broker's kills: a processor dies while the broker is away."""
FREEZE_EVERY_KILLS = 10
FREEZE_SECONDS = TRANSACTION_TIMEOUT_MS / 1000 + 2
"""Longer than a session and a transaction: others get the partitions, and it must be fenced."""
MOMENT_SECONDS_MAX = 0.03
LOOK_SECONDS = 0.02
STALL_SECONDS_MAX = 120.0
SETTLE_SECONDS_MAX = 60.0
FLUSH_SECONDS_MAX = 120.0
COMMON_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
}
KAFKA_SETTINGS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "500"}


@dataclass
class TransactionsResult:
    """What a run did and found."""

    broker: PeerName
    client: Client
    seed: int
    transaction_version: int = 0
    """What the broker offers: 2 is the second generation, which only Java's client 4 speaks."""
    kills_of_broker: int = 0
    kills_of_processors: int = 0
    kills_with_new_id: int = 0
    freezes: int = 0
    processors_ended_by_themselves: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    report: Report | None = None

    @property
    def kills(self) -> int:
        return self.kills_of_broker + self.kills_of_processors

    @property
    def is_clean(self) -> bool:
        return self.report is not None and self.report.is_clean and not self.failures

    def raise_if_violated(self) -> None:
        assert self.failures == []
        assert self.report is not None
        self.report.raise_if_violated()


class TransactionsRun:
    """One broker, one client, one pipeline. ``run`` may be called once."""

    def __init__(
        self,
        directory: Path,
        *,
        client: Client,
        records: int,
        kills: int,
        seed: int,
        broker: PeerName = HEADRACE,
        spare_broker: bool = False,
        on_progress: Callable[[TransactionsResult, int], None] = lambda result, records: None,
    ) -> None:
        self.result = TransactionsResult(broker, client, seed)
        self._directory = directory
        self._records = records
        self._kills = kills
        self._spare_broker = spare_broker
        self._on_progress = on_progress
        self._chance = random.Random(seed)
        self._broker = make_broker(broker, directory / "broker")
        self._history = PipelineHistory(records, PARTITIONS)
        self._fed = 0

    def run(self) -> TransactionsResult:
        """Ends at the first thing that is stuck: the failures say what it was."""
        started_s = time.monotonic()
        self._broker.start()
        try:
            self._run()
        except (ClientStuck, KafkaException, TimeoutError) as error:
            self.result.failures.append(repr(error))
        finally:
            self._broker.kill()
        self.result.seconds = time.monotonic() - started_s
        return self.result

    def _run(self) -> None:
        address = self._broker.bootstrap_servers
        self._note_generation(address)
        administrator = Administrator(address)
        administrator.create([plain(INPUT_TOPIC, PARTITIONS), plain(OUTPUT_TOPIC, PARTITIONS)])
        self._progress = Progress(address)
        self._crew = Crew(
            self._command, address, self._directory / "processors", self._chance, PROCESSORS
        )
        try:
            self._crew.start()
            self._kill_again_and_again()
            self._feed(self._records)
            self._await(self._records)
        finally:
            self._crew.stop()
            self._progress.close()
            self._note_crew()
        self._crew.tell(self._history)
        self._await_settled(administrator)
        self._read(address)
        self.result.report = self._history.report()

    def _note_generation(self, address: str) -> None:
        self.result.transaction_version = transaction_version(address)
        if self.result.client == "java" and self.result.transaction_version < SECOND_GENERATION:
            raise ClientStuck(
                f"{FEATURE} is {self.result.transaction_version}: java would prove what java-v1 "
                "proves; raise the feature"
            )

    def _command(self, task: Task) -> list[str]:
        return processor_command(self.result.client, task)

    def _kill_again_and_again(self) -> None:
        freezes = 0
        while self.result.kills_of_broker + self._crew.kills < self._kills:
            done = self.result.kills_of_broker + self._crew.kills
            self._feed(self._records * (done + 1) // (self._kills + 1))
            begun = min(self._progress.look(), self._fed)
            self._await(self._chance.randint(begun, self._fed))
            time.sleep(self._chance.random() * MOMENT_SECONDS_MAX)
            self._strike(done)
            if done // FREEZE_EVERY_KILLS >= freezes:
                self._freeze()
                freezes += 1

    def _feed(self, records: int) -> None:
        """So many inputs in all; the rest comes later, so that there is work at every kill."""
        fill(self._broker.bootstrap_servers, range(self._fed, records))
        self._fed = records

    def _strike(self, done: int) -> None:
        if self._spare_broker or (done + 1) % BROKER_EVERY_KILLS:
            self._crew.kill_one()
            return
        self._broker.kill()
        self.result.kills_of_broker += 1
        if self._chance.random() < BOTH_SHARE:
            self._crew.kill_one()
        self._broker.start()

    def _freeze(self) -> None:
        go_on = self._crew.freeze_one()
        time.sleep(FREEZE_SECONDS)
        go_on()

    def _await(self, wanted: int) -> None:
        """Until so many inputs are done; ClientStuck if there is no progress at all."""
        seen, deadline_s = self._progress.records, time.monotonic() + STALL_SECONDS_MAX
        while (records := self._progress.look()) < wanted:
            self._crew.tend()
            if records > seen:
                seen, deadline_s = records, time.monotonic() + STALL_SECONDS_MAX
                self._on_progress(self.result, records)
            if time.monotonic() > deadline_s:
                raise ClientStuck(f"{records} of {self._records} records, then no progress")
            time.sleep(LOOK_SECONDS)

    def _note_crew(self) -> None:
        result, crew = self.result, self._crew
        result.kills_of_processors = crew.kills
        result.kills_with_new_id = crew.kills_with_new_id
        result.freezes = crew.freezes
        result.processors_ended_by_themselves = crew.ended_by_themselves

    def _await_settled(self, administrator: Administrator) -> None:
        """Transactions of dead processors are ended by their time-out, and no later."""
        deadline_s = time.monotonic() + TRANSACTION_TIMEOUT_MS / 1000 + SETTLE_SECONDS_MAX
        while True:
            ends = output_ends(administrator)
            open_partitions = {n: pair for n, pair in ends.items() if pair[0] < pair[1]}
            if not open_partitions:
                return
            if time.monotonic() > deadline_s:
                break
            time.sleep(LOOK_SECONDS)
        for partition, (stable, end) in open_partitions.items():
            self._history.hanging(partition, stable, end)

    def _read(self, address: str) -> None:
        client = self.result.client
        for level, tell in (
            ("read_committed", self._history.read_committed),
            ("read_uncommitted", self._history.read_uncommitted),
        ):
            if client == "librdkafka":
                for message in read_whole(address, OUTPUT_TOPIC, PARTITIONS, level):
                    value = as_bytes(message.value()) or b""
                    tell(message.partition() or 0, message.offset() or 0, value)
            else:
                for partition, offset, value in read_with_java(
                    client, address, OUTPUT_TOPIC, level
                ):
                    tell(partition, offset, value)


def fill(bootstrap_servers: str, numbers: range) -> None:
    """Each number once: nobody is killed meanwhile, and the producer is idempotent."""
    producer = Producer(client_settings(bootstrap_servers, enable_idempotence=True, linger_ms=5))
    for number in numbers:
        while True:
            try:
                producer.produce(INPUT_TOPIC, str(number).encode(), partition=number % PARTITIONS)
            except BufferError:  # the library's queue is full: let it empty
                producer.poll(LOOK_SECONDS)
            else:
                break
    unsent = producer.flush(FLUSH_SECONDS_MAX)
    if unsent:
        raise TimeoutError(f"{unsent} records of the input are not acknowledged")


def make_broker(name: PeerName, directory: Path) -> Peer:
    if name == HEADRACE:
        return HeadracePeer(directory, COMMON_SETTINGS)
    return KafkaPeer(directory, COMMON_SETTINGS | KAFKA_SETTINGS)
