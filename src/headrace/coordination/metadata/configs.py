"""Decisions about configurations: what a resource's settings are after a change, and the records.

Whether a value is legal is for the option's declaration to say (``headrace.config``); this module
knows how the four operations of an incremental change combine with what is there.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from headrace.config.option import Kind, split_list
from headrace.coordination.metadata.records import ConfigRecord
from headrace.model.errors import InvalidConfig, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.config.option import Option
    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.coordination.metadata.state import ConfigResource

CHANGES_PER_RESOURCE_MAX = 1_000


class Operation(IntEnum):
    """What an incremental change does with an option (KIP-339)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigChange(NamedTuple):
    """One option of an incremental change."""

    name: str
    operation: Operation
    value: str | None = None


def settings_after(
    current: Mapping[str, str], changes: Sequence[ConfigChange], options: Mapping[str, Option]
) -> dict[str, str]:
    """What ``current`` becomes. ``options`` says which names are lists, and their defaults."""
    raise_if_repeated([change.name for change in changes])
    settings = dict(current)
    for name, operation, value in changes:
        if operation is Operation.DELETE:
            settings.pop(name, None)
        elif value is None:
            raise InvalidRequest(f"{name}: a value is needed to {operation.name.lower()}")
        elif operation is Operation.SET:
            settings[name] = value
        else:
            settings[name] = _changed_list(settings, name, operation, value, options)
    return settings


def decide_settings(
    resource: ConfigResource, current: Mapping[str, str], wanted: Mapping[str, str]
) -> list[MetadataRecord]:
    """The records that turn ``current`` into ``wanted``; none when they are equal."""
    dropped = sorted(current.keys() - wanted.keys())
    records: list[MetadataRecord] = [
        ConfigRecord(resource.type, resource.name, name, None) for name in dropped
    ]
    records += (
        ConfigRecord(resource.type, resource.name, name, value)
        for name, value in sorted(wanted.items())
        if current.get(name) != value
    )
    return records


def raise_if_repeated(names: Sequence[str]) -> None:
    if len(names) > CHANGES_PER_RESOURCE_MAX:
        raise InvalidRequest(
            f"{len(names)} settings in one change, the limit is {CHANGES_PER_RESOURCE_MAX}"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidRequest(f"named more than once: {', '.join(repeated)}")


def _changed_list(
    settings: Mapping[str, str],
    name: str,
    operation: Operation,
    value: str,
    options: Mapping[str, Option],
) -> str:
    option = options.get(name)
    if option is None:
        raise InvalidConfig(f"unknown configuration {name!r}")
    if option.kind is not Kind.LIST:
        raise InvalidConfig(
            f"{name}: only lists can be appended to or subtracted from, "
            f"this is of type {option.kind.value}"
        )
    items = list(split_list(settings.get(name) or option.default or ""))
    given = split_list(value)
    if operation is Operation.APPEND:
        items += [item for item in given if item not in items]
    else:
        items = [item for item in items if item not in given]
    return ",".join(items)
