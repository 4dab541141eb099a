"""Changes of settings as pure functions: old overrides and operations in, new overrides out.

Nothing is applied unless everything is legal, so a caller can validate only, or store the result.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from headrace.config.broker import BROKER_OPTIONS, BrokerConfig, raise_if_not_dynamic
from headrace.config.names import raise_if_unknown
from headrace.config.option import Kind, Option, Value, render, split_list
from headrace.config.topic import TOPIC_OPTIONS, TopicConfig, inherited
from headrace.model.errors import InvalidConfig, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Operation(Enum):
    """What to do with one setting. APPEND and SUBTRACT are for lists only."""

    SET = "set"
    DELETE = "delete"
    APPEND = "append"
    SUBTRACT = "subtract"


class Change(NamedTuple):
    """One operation on one setting; DELETE takes no value."""

    name: str
    operation: Operation
    value: str | None = None


def alter_topic(
    overrides: Mapping[str, str], changes: Sequence[Change], broker: BrokerConfig
) -> dict[str, str]:
    """The topic's new overrides; the whole of them is checked, not only what changes."""
    _raise_if_repeated(changes)
    altered = dict(overrides)
    for change in changes:
        raise_if_unknown(change.name, TOPIC_OPTIONS, "topic option")
        option = TOPIC_OPTIONS[change.name]
        # A list grows from what is in force, which may come from the broker.
        in_force = altered[option.name] if option.name in altered else inherited(option, broker)
        _apply(change, option, altered, in_force)
    TopicConfig.resolve(altered, broker)
    return altered


def alter_broker(
    overrides: Mapping[str, str], changes: Sequence[Change], broker: BrokerConfig
) -> dict[str, str]:
    """New run-time settings of a broker (or of all brokers); only dynamic options may change."""
    _raise_if_repeated(changes)
    altered = dict(overrides)
    for change in changes:
        raise_if_not_dynamic(change.name)
        option = BROKER_OPTIONS[change.name]
        in_force = altered.get(option.name, broker.layers.static.get(option.name, option.default))
        _apply(change, option, altered, in_force)
    BrokerConfig.resolve(broker.layers.static, dynamic=altered)
    return altered


def replace_topic(settings: Mapping[str, str | None], broker: BrokerConfig) -> dict[str, str]:
    """The older AlterConfigs: what is not named goes back to its default."""
    altered = {name: value for name, value in settings.items() if value is not None}
    TopicConfig.resolve(altered, broker)
    return altered


def replace_broker(settings: Mapping[str, str | None], broker: BrokerConfig) -> dict[str, str]:
    """The older AlterConfigs, for run-time settings of a broker."""
    for name in settings:
        raise_if_not_dynamic(name)
    altered = {name: value for name, value in settings.items() if value is not None}
    BrokerConfig.resolve(broker.layers.static, dynamic=altered)
    return altered


def _raise_if_repeated(changes: Sequence[Change]) -> None:
    seen: set[str] = set()
    for change in changes:
        if change.name in seen:
            raise InvalidRequest(f"{change.name} is named twice in one request")
        seen.add(change.name)


def _apply(change: Change, option: Option, altered: dict[str, str], in_force: Value) -> None:
    if change.operation is Operation.DELETE:
        altered.pop(option.name, None)
        return
    if change.value is None:
        raise InvalidConfig(f"{option.name}: {change.operation.value} needs a value")
    if change.operation is Operation.SET:
        option.parse(change.value)
        altered[option.name] = change.value
        return
    if option.kind is not Kind.LIST:
        raise InvalidConfig(f"{option.name}: {change.operation.value} works on lists only")
    altered[option.name] = ",".join(_changed_list(change.operation, in_force, change.value))
    option.parse(altered[option.name])


def _changed_list(operation: Operation, in_force: Value, value: str) -> list[str]:
    current = split_list(in_force if isinstance(in_force, str) else render(in_force))
    given = split_list(value)
    if operation is Operation.APPEND:
        return list(dict.fromkeys((*current, *given)))
    return [item for item in current if item not in given]
