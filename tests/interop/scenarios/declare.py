"""How a scenario is declared, and what it is handed when it runs."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from ..deadline import wait_until
from ..values import ClientFailure, ConsumerSettings, Received, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..driver import Client, Consumer

READ_TIMEOUT_S = 20.0


@dataclass
class ScenarioRun:
    """One scenario with one client: the client, its helper for topics, and unique names.

    `admin` is the client itself, or confluent-kafka for a client without admin calls; `observer`
    (always confluent-kafka) only looks whether a new topic is visible.
    """

    client: Client
    admin: Client
    observer: Client
    start_client: Callable[[], Client]
    can_set_timestamp: bool = True
    unique: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    _open: list[Consumer] = field(default_factory=list)

    def name(self, word: str) -> str:
        return f"{word}-{self.client.name}-{self.unique}"

    def new_topic(
        self, word: str, partitions: int = 1, configs: dict[str, str] | None = None
    ) -> str:
        topic = self.name(word)
        self.admin.create_topic(topic, partitions, configs)
        # A created topic may reach the broker's own view a moment after the answer.
        wait_until(
            lambda: topic in self.observer.list_topics(), f"{topic} is visible", READ_TIMEOUT_S
        )
        return topic

    def open(self, settings: ConsumerSettings, client: Client | None = None) -> Consumer:
        consumer = (client or self.client).open_consumer(settings)
        if client is None:
            self._open.append(consumer)
        return consumer

    def close(self, consumer: Consumer) -> None:
        self._open.remove(consumer)
        consumer.close()

    def close_all(self) -> None:
        while self._open:
            self._open.pop().close()

    def read_partition(self, topic: str, count: int, partition: int = 0) -> list[Received]:
        """Read `count` records from the start of a partition, without a group."""
        consumer = self.open(ConsumerSettings(assign=((topic, partition),)))
        found = read(consumer, count)
        self.close(consumer)
        return found


@dataclass(frozen=True)
class Scenario:
    """A named scenario and the capabilities that a client needs for it."""

    name: str
    run: Callable[[ScenarioRun], None]
    needs: tuple[str, ...]


SCENARIOS: dict[str, Scenario] = {}


def scenario(*needs: str) -> Callable[[Callable[[ScenarioRun], None]], Callable[..., None]]:
    """Declare a scenario under its function's name."""

    def declare(function: Callable[[ScenarioRun], None]) -> Callable[[ScenarioRun], None]:
        SCENARIOS[function.__name__] = Scenario(function.__name__, function, needs)
        return function

    return declare


def read(consumer: Consumer, count: int, timeout_s: float = READ_TIMEOUT_S) -> list[Received]:
    """Poll until `count` records came; more than asked for is for the caller to judge."""
    found: list[Received] = []

    def enough() -> bool:
        found.extend(consumer.poll())
        return len(found) >= count

    wait_until(enough, f"{count} records read", timeout_s, lambda: f"{len(found)} came", 0)
    return found


def poll_all(
    consumers: Sequence[Consumer],
    condition: Callable[[list[Received]], bool],
    what: str,
    timeout_s: float = READ_TIMEOUT_S,
) -> list[Received]:
    """Poll the consumers in turn until the condition holds for all that was received."""
    found: list[Received] = []

    def step() -> bool:
        for consumer in consumers:
            found.extend(consumer.poll())
        return condition(found)

    def state() -> str:
        assignments = [sorted(consumer.assignment()) for consumer in consumers]
        return f"{len(found)} records; assignments {assignments}"

    wait_until(step, what, timeout_s, state, 0)
    return found


def expect_failure(code: int, action: Callable[[], object]) -> None:
    """The broker must refuse the action with this error number."""
    with pytest.raises(ClientFailure) as caught:
        action()
    assert caught.value.code == code, f"expected error {code}, got {caught.value}"


def numbered(count: int, partitions: int = 1, word: str = "record") -> list[Record]:
    """Records with distinct values, spread evenly over the partitions."""
    return [
        Record(value=f"{word}-{number}".encode(), key=b"k", partition=number % partitions)
        for number in range(count)
    ]


def values(received: Sequence[Received]) -> list[bytes | None]:
    return [item.record.value for item in received]
