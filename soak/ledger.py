"""Topics that come, change and go; the ledger remembers which of it was acknowledged.

A change whose answer the kill swallowed may have happened or not: both are right then, until the
next look says which. What was acknowledged must be so after every restart.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from headrace.testing.history import Fault

from .clients import ANSWER_SECONDS_MAX

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from concurrent.futures import Future

    from headrace.testing.history import History

    from .administrator import Administrator

TOPICS_MAX = 8
ABSENT_MAX = 200
OPTION = "max.message.bytes"
UNANSWERED = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT)
REQUEST_SECONDS = 5.0


@dataclass
class Entry:
    """A topic that exists, and what it may look like: more than one value while it is unknown."""

    partitions: set[int]
    option_values: set[str | None] = field(default_factory=lambda: {None})


class TopicLedger:
    """Works beside the load, on topics of its own (and deletes records of one under load)."""

    def __init__(self, administrator: Administrator, history: History) -> None:
        self._administrator = administrator
        self._history = history
        self._count = 0
        self.present: dict[str, Entry] = {}
        self._uncertain: set[str] = set()
        """Neither known to be there nor known to be gone."""
        self._absent: deque[str] = deque(maxlen=ABSENT_MAX)
        self.changes_acknowledged = 0
        self.changes_unanswered = 0

    # --- changes: each returns a future and what to note when the answer is there -----------------

    def work(self, chance: random.Random, trimmed_topic: str) -> None:
        """A few changes that are waited for."""
        self.settle([self._create()])
        changes = [self._create(), self._alter(chance), self._grow(chance)]
        changes.append(self._delete_records(chance, trimmed_topic))
        if len(self.present) > TOPICS_MAX:
            changes.append(self._delete(next(iter(self.present))))
        self.settle(changes)

    def fire(self, chance: random.Random, trimmed_topic: str) -> list[Change]:
        """Changes of every kind that nobody waits for: the kill comes while they are going on."""
        changes = [self._create(), self._alter(chance), self._grow(chance)]
        if len(self.present) > 2:
            changes.append(self._delete(next(iter(self.present))))
        changes.append(self._delete_records(chance, trimmed_topic))
        chance.shuffle(changes)
        return changes

    def settle(self, changes: list[Change]) -> None:
        for change in changes:
            try:
                result = change.future.result(ANSWER_SECONDS_MAX)
            except KafkaException as error:
                if error.args[0].code() not in UNANSWERED:
                    raise  # no answer is fine; a wrong one is not
                self.changes_unanswered += 1
            else:
                self.changes_acknowledged += 1
                change.acknowledged(result)

    def _create(self) -> Change:
        self._count += 1
        name = f"ledger-{self._count}"
        self._uncertain.add(name)

        def acknowledged(_: Any) -> None:
            self._uncertain.discard(name)
            self.present[name] = Entry({2})

        futures = self._administrator.client.create_topics(
            [NewTopic(name, 2, 1)], request_timeout=REQUEST_SECONDS
        )
        return Change(futures[name], acknowledged)

    def _delete(self, name: str) -> Change:
        del self.present[name]
        self._uncertain.add(name)

        def acknowledged(_: Any) -> None:
            self._uncertain.discard(name)
            self._absent.append(name)

        futures = self._administrator.client.delete_topics([name], request_timeout=REQUEST_SECONDS)
        return Change(futures[name], acknowledged)

    def _alter(self, chance: random.Random) -> Change:
        entry_name = list(self.present)[-1]
        entry = self.present[entry_name]
        value = str(chance.randrange(100_000, 1_000_000))
        entry.option_values.add(value)

        def acknowledged(_: Any) -> None:
            entry.option_values = {value}

        change = ConfigEntry(OPTION, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, entry_name, incremental_configs=[change])
        futures = self._administrator.client.incremental_alter_configs(
            [resource], request_timeout=REQUEST_SECONDS
        )
        return Change(futures[resource], acknowledged)

    def _grow(self, chance: random.Random) -> Change:
        settled = [n for n, e in self.present.items() if len(e.partitions) == 1]
        name = settled[-1]
        entry = self.present[name]
        count = max(entry.partitions) + chance.randrange(1, 3)
        entry.partitions.add(count)

        def acknowledged(_: Any) -> None:
            entry.partitions = {count}

        futures = self._administrator.client.create_partitions(
            [NewPartitions(name, count)], request_timeout=REQUEST_SECONDS
        )
        return Change(futures[name], acknowledged)

    def _delete_records(self, chance: random.Random, topic: str) -> Change:
        places = [place for place in self._history.partitions if place[0] == topic]
        partition = self._history.partition(*chance.choice(places))
        low, high = partition.log_start_offset, partition.high_watermark
        offset = low + chance.randrange(0, max(1, (high - low) // 2))
        partition.allow_deletion_before(offset)

        def acknowledged(result: Any) -> None:
            partition.observe_log_start(result.low_watermark, low)

        wanted = TopicPartition(partition.topic, partition.partition, offset)
        futures = self._administrator.client.delete_records(
            [wanted], request_timeout=REQUEST_SECONDS
        )
        return Change(futures[wanted], acknowledged)

    # --- the look ---------------------------------------------------------------------------------

    def check(self) -> None:
        """Everything acknowledged is as it was said; what was uncertain is known afterwards."""
        found = self._administrator.client.list_topics(timeout=ANSWER_SECONDS_MAX).topics
        for name, entry in self.present.items():
            count = len(found[name].partitions) if name in found else 0
            self._expect(count in entry.partitions, name, f"{count} partitions, {entry.partitions}")
            entry.partitions = {count}
        for name in self._absent:
            self._expect(name not in found, name, "it was deleted")
        for name in self._uncertain:
            if name in found:
                self.present[name] = Entry({len(found[name].partitions)}, set())
            else:
                self._absent.append(name)
        self._uncertain.clear()
        self._check_options()

    def _check_options(self) -> None:
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in self.present]
        for resource, future in self._administrator.client.describe_configs(resources).items():
            option = future.result(ANSWER_SECONDS_MAX)[OPTION]
            value = None if option.is_default else option.value
            entry = self.present[resource.name]
            is_known = not entry.option_values or value in entry.option_values
            self._expect(is_known, resource.name, f"{OPTION}={value}, not {entry.option_values}")
            entry.option_values = {value}

    def _expect(self, is_right: bool, name: str, detail: str) -> None:
        self._history.metadata_checked += 1
        if not is_right:
            self._history.violations.add(Fault.METADATA_LOST, name, detail)


@dataclass(frozen=True)
class Change:
    """A request on its way."""

    future: Future[Any]
    acknowledged: Callable[[Any], None]
