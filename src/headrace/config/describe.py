"""Descriptions of settings, as Kafka's DescribeConfigs reports them: value, source, synonyms, type.

The rules are Kafka's, oddities included, since tools compare the two. One that surprises: a value
that comes from a coarser synonym (``log.retention.hours`` behind ``retention.ms``) is reported as a
default without synonyms, because only the finest name and what follows it are listed.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from headrace.config.broker import BROKER_OPTIONS, BrokerConfig, broker_value
from headrace.config.names import raise_if_unknown
from headrace.config.option import Kind, Option, render
from headrace.config.topic import TOPIC_OPTIONS, inherited

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Source(Enum):
    """Where a value comes from."""

    DYNAMIC_TOPIC = "topic"
    DYNAMIC_BROKER = "broker, set at run time"
    DYNAMIC_DEFAULT_BROKER = "all brokers, set at run time"
    STATIC_BROKER = "broker, given at the start"
    DEFAULT = "default"


class SynonymEntry(NamedTuple):
    """One of the places that could supply a value; they come in order of precedence."""

    name: str
    value: str | None
    source: Source


class ConfigEntry(NamedTuple):
    """One option of one resource. ``value`` is None if it is not set, or is sensitive."""

    name: str
    value: str | None
    source: Source
    synonyms: tuple[SynonymEntry, ...]
    kind: Kind
    documentation: str
    is_sensitive: bool
    read_only: bool

    @property
    def is_default(self) -> bool:
        return self.source is Source.DEFAULT


# Several names for one value, the finest first: the same lists serve each of the names.
_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FAMILY_OF = {name: family for family in _FAMILIES for name in family} | {
    # Not symmetric: the scheduler's interval is not another spelling of the flush interval.
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}


def describe_topic(
    overrides: Mapping[str, str], broker: BrokerConfig, names: Sequence[str] | None = None
) -> list[ConfigEntry]:
    """All options of a topic, or those of ``names`` that exist."""
    return [
        _topic_entry(option, overrides, broker)
        for option in _chosen(TOPIC_OPTIONS, names)
        if not option.internal or option.name in overrides
    ]


def describe_broker(broker: BrokerConfig, names: Sequence[str] | None = None) -> list[ConfigEntry]:
    """All options of this broker, or those of ``names`` that exist."""
    return [
        _broker_entry(option, broker)
        for option in _chosen(BROKER_OPTIONS, names)
        if not option.internal or any(option.name in layer for layer in broker.layers)
    ]


def describe_broker_defaults(
    broker: BrokerConfig, names: Sequence[str] | None = None
) -> list[ConfigEntry]:
    """What was set at run time for all brokers, and nothing else."""
    options = (BROKER_OPTIONS[name] for name in sorted(broker.layers.dynamic_default))
    return [
        _default_layer_entry(option, broker)
        for option in options
        if names is None or option.name in names
    ]


def explain(name: str) -> list[Option]:
    """The declarations behind a name: of topics, of brokers, or of both."""
    raise_if_unknown(name, TOPIC_OPTIONS | BROKER_OPTIONS, "option")
    return [options[name] for options in (TOPIC_OPTIONS, BROKER_OPTIONS) if name in options]


def _chosen(options: Mapping[str, Option], names: Sequence[str] | None) -> Iterator[Option]:
    return (option for name, option in options.items() if names is None or name in names)


def _topic_entry(option: Option, overrides: Mapping[str, str], broker: BrokerConfig) -> ConfigEntry:
    synonyms: tuple[SynonymEntry, ...] = ()
    if option.synonyms:
        synonyms = _broker_synonyms(BROKER_OPTIONS[option.synonyms[0].name], broker)
    if option.name in overrides:
        value: str | None = option.normalise(overrides[option.name])
        synonyms = (
            SynonymEntry(option.name, _shown(option, value), Source.DYNAMIC_TOPIC),
            *synonyms,
        )
    else:
        inherited_value = inherited(option, broker)
        value = None if inherited_value is None else render(inherited_value)
    return _entry(option, value, synonyms, read_only=False)


def _broker_entry(option: Option, broker: BrokerConfig) -> ConfigEntry:
    value = broker_value(broker, option.name)
    text = None if value is None else render(value)
    return _entry(option, text, _broker_synonyms(option, broker), read_only=not option.dynamic)


def _default_layer_entry(option: Option, broker: BrokerConfig) -> ConfigEntry:
    value = option.normalise(broker.layers.dynamic_default[option.name])
    synonym = SynonymEntry(option.name, _shown(option, value), Source.DYNAMIC_DEFAULT_BROKER)
    return _entry(option, value, (synonym,), read_only=not option.dynamic)


def _broker_synonyms(option: Option, broker: BrokerConfig) -> tuple[SynonymEntry, ...]:
    family = [BROKER_OPTIONS[name] for name in _FAMILY_OF.get(option.name, (option.name,))]
    found = [
        SynonymEntry(member.name, _shown(member, member.normalise(layer[member.name])), source)
        for layer, source in (
            (broker.layers.dynamic, Source.DYNAMIC_BROKER),
            (broker.layers.dynamic_default, Source.DYNAMIC_DEFAULT_BROKER),
            (broker.layers.static, Source.STATIC_BROKER),
        )
        for member in family
        if member.name in layer
    ]
    found += [
        SynonymEntry(member.name, _shown(member, member.default), Source.DEFAULT)
        for member in family
        if member.default is not None
    ]
    while found and found[0].name != option.name:
        found.pop(0)
    return tuple(found)


def _entry(
    option: Option, value: str | None, synonyms: tuple[SynonymEntry, ...], *, read_only: bool
) -> ConfigEntry:
    return ConfigEntry(
        name=option.name,
        value=_shown(option, value),
        source=synonyms[0].source if synonyms else Source.DEFAULT,
        synonyms=synonyms,
        kind=option.kind,
        documentation=option.documentation,
        is_sensitive=option.sensitive,
        read_only=read_only,
    )


def _shown(option: Option, value: str | None) -> str | None:
    return None if option.sensitive else value
