"""What a simulated node was told to change in its metadata, and what may be left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.alter import Change, Operation
from headrace.coordination.metadata.records import ResourceType
from headrace.coordination.metadata.state import ConfigResource
from headrace.coordination.metadata.topics import NewTopic
from headrace.model.errors import StorageFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.testing.storage_node import StorageNode


class Possibilities:
    """The states that one thing may be in after a crash, oldest first."""

    def __init__(self, state: object) -> None:
        self._states = [state]
        self._dropped = 0

    def begin(self, state: object) -> int:
        """A change was begun; the number to ``settle`` it by."""
        self._states.append(state)
        return self._dropped + len(self._states) - 1

    def settle(self, number: int) -> None:
        """That change was acknowledged: nothing before it is possible any more."""
        surplus = number - self._dropped
        if surplus > 0:
            del self._states[:surplus]
            self._dropped = number

    def __contains__(self, state: object) -> bool:
        return state in self._states

    def __repr__(self) -> str:
        return repr(self._states)


class MetadataModel:
    """Per topic and per setting all states that are possible; an acknowledgement leaves one."""

    def __init__(self) -> None:
        self._topics: dict[str, Possibilities] = {}
        self._settings: dict[tuple[str, str], Possibilities] = {}

    def create(
        self, node: StorageNode, name: str, partition_count: int, overrides: Mapping[str, str]
    ) -> None:
        if node.topics.get(name) is None:
            wish = NewTopic(name, partition_count, 1, overrides)
            self._change_topic(node, name, True, lambda: node.changes.create(wish))

    def delete(self, node: StorageNode, name: str) -> None:
        if node.topics.get(name) is not None:
            self._change_topic(node, name, False, lambda: node.changes.delete(name))

    def alter(self, node: StorageNode, topic: str, setting: str, value: str) -> None:
        if node.topics.get(topic) is None:
            return
        resource = ConfigResource(ResourceType.TOPIC, topic)
        current = Possibilities(self._value(node, topic, setting))
        possible = self._settings.setdefault((topic, setting), current)
        change = Change(setting, Operation.SET, value)
        _make(node, possible, value, lambda: node.configurations.alter(resource, [change]))

    def judge(self, node: StorageNode) -> None:
        """What was acknowledged is there, what was not asked for is not."""
        present = {topic.name for topic in node.topics}
        for name in present:
            assert name in self._topics, f"topic {name} was never created"
        for name, possible in self._topics.items():
            assert (name in present) in possible, f"topic {name}: {name in present} is not possible"
        for (topic, setting), values in self._settings.items():
            if topic in present:
                value = self._value(node, topic, setting)
                assert value in values, f"{setting} of {topic} is {value}, not one of {values}"

    def accept(self, node: StorageNode) -> None:
        """Of several possibilities it is the one that is there."""
        for name in self._topics:
            self._topics[name] = Possibilities(node.topics.get(name) is not None)
        for topic, setting in list(self._settings):
            if node.topics.get(topic) is None:
                del self._settings[topic, setting]
            else:
                value = self._value(node, topic, setting)
                self._settings[topic, setting] = Possibilities(value)

    def _change_topic(
        self, node: StorageNode, name: str, is_there: bool, change: Callable[[], object]
    ) -> None:
        possible = self._topics.setdefault(name, Possibilities(False))
        _make(node, possible, is_there, change)

    @staticmethod
    def _value(node: StorageNode, topic: str, setting: str) -> str | None:
        return node.configurations.topic_settings(topic).get(setting)


def _make(
    node: StorageNode, possible: Possibilities, state: object, change: Callable[[], object]
) -> None:
    """Make a change and wait for its acknowledgement; after an error both states are possible."""
    number = possible.begin(state)
    try:
        change()
    except StorageFailure:
        return

    def acknowledged(error: BaseException | None) -> None:
        if error is None:
            possible.settle(number)

    node.store.when_durable(acknowledged)
    node.background.breathe()
