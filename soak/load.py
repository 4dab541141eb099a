"""Topics with their producers and groups, from creation to the last look at every record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.interop.deadline import wait_until

from .member import GroupMember
from .producer import PacedProducer, ProducerPlan
from .scanning import LogScanner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.testing.history import History

    from .administrator import Administrator
    from .questions import Questions
    from .retention_bounds import RetentionBounds
    from .topics import LoadTopic

READ_SECONDS_MAX = 60.0


@dataclass(frozen=True)
class GroupPlan:
    """A group, its protocol (see ``member.PROTOCOLS``) and what it reads."""

    name: str
    protocol: str
    members: int
    topics: Sequence[LoadTopic]


@dataclass(frozen=True)
class LoadPlan:
    """What one load consists of."""

    topics: Sequence[LoadTopic]
    producers: Sequence[ProducerPlan]
    groups: Sequence[GroupPlan]


@dataclass(frozen=True)
class Surroundings:
    """What all loads of a run share."""

    bootstrap_servers: str
    history: History
    administrator: Administrator
    questions: Questions
    bounds: RetentionBounds


class Load:
    """``start``, let it run, ``finish``; between the two the broker may die as often as it will."""

    def __init__(self, surroundings: Surroundings, plan: LoadPlan) -> None:
        self._shared = surroundings
        self.plan = plan
        self.producers: list[PacedProducer] = []
        self.members: list[GroupMember] = []

    def start(self) -> None:
        shared = self._shared
        shared.administrator.create(self.plan.topics)
        shared.bounds.add(self.plan.topics)
        for topic in self.plan.topics:
            shared.history.topic(topic.name, topic.partitions, is_compacted=topic.is_compacted)
        self.producers = [
            PacedProducer(shared.bootstrap_servers, plan, shared.history)
            for plan in self.plan.producers
        ]
        self.members = [
            GroupMember(
                shared.bootstrap_servers,
                plan.name,
                plan.protocol,
                [topic.name for topic in plan.topics],
                shared.history,
            )
            for plan in self.plan.groups
            for _ in range(plan.members)
        ]
        for client in [*self.producers, *self.members]:
            client.start()

    def wait_until_working(self) -> None:
        """Every group has committed something: from now on a kill meets all of them at work."""
        groups = [self._shared.history.group(plan.name) for plan in self.plan.groups]
        wait_until(
            lambda: all(group.commits_acknowledged for group in groups),
            "every group reads and commits",
            READ_SECONDS_MAX,
            lambda: ([g.name for g in groups if not g.commits_acknowledged], self.failures),
        )

    @property
    def acknowledged_count(self) -> int:
        return sum(producer.acknowledged_count for producer in self.producers)

    @property
    def failures(self) -> list[str]:
        failures = [failure for producer in self.producers for failure in producer.failures]
        return failures + [str(m.failure) for m in self.members if m.failure is not None]

    def stop(self) -> None:
        """Without waiting for anything: the run is over."""
        for producer in self.producers:
            producer.stop()
        for member in self.members:
            member.stop()

    def finish(self) -> None:
        """All is delivered, read and committed, and every log is read once more, whole."""
        for producer in self.producers:
            producer.stop()
        for producer in self.producers:
            producer.finish()
        self._wait_until_read()
        for member in self.members:
            member.stop()
        for member in self.members:
            member.finish()
        self.scan()

    def scan(self) -> None:
        shared = self._shared
        scanner = LogScanner(shared.bootstrap_servers, shared.history, shared.bounds)
        scanner.scan(topic.name for topic in self.plan.topics)

    def delete(self) -> None:
        """The history first: who asks the broker meanwhile must not miss what is going."""
        shared = self._shared
        for group in self.plan.groups:
            shared.history.forget_group(group.name)
        for topic in self.plan.topics:
            shared.history.forget(topic.name)
            shared.bounds.forget(topic.name)
        shared.administrator.delete_groups(group.name for group in self.plan.groups)
        shared.administrator.delete(topic.name for topic in self.plan.topics)

    def _wait_until_read(self) -> None:
        """The groups get to the end of every topic from which nothing is deleted."""
        history = self._shared.history
        self._shared.questions.check_ends()
        places = [
            (history.group(group.name), history.partition(topic.name, number))
            for group in self.plan.groups
            for topic in group.topics
            if topic.is_kept
            for number in range(topic.partitions)
        ]

        def behind() -> list[str]:
            return [
                f"{group.name} {partition.where}"
                for group, partition in places
                if (group.acknowledged_offset(partition) or 0) < partition.high_watermark
            ]

        wait_until(
            lambda: not behind(),
            "the groups read all and commit it",
            READ_SECONDS_MAX,
            lambda: (behind(), self.failures),
        )
