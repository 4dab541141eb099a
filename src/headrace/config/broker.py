"""The broker's own settings: the catalogue, and one frozen, typed object with all values.

A value comes from the first layer that has one: changed at run time for this broker, changed at run
time for all brokers, given at the start, default. The broker keeps the run-time layers and resolves
again when one changes; nobody writes to a ``BrokerConfig``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.config import declare
from headrace.config.broker_access import AccessSettings
from headrace.config.broker_groups import GroupSettings
from headrace.config.broker_log import LogSettings
from headrace.config.broker_network import NetworkSettings
from headrace.config.broker_quotas import QuotaSettings
from headrace.config.broker_replication import ReplicationSettings
from headrace.config.broker_security import SecuritySettings
from headrace.config.broker_tables import TableSettings
from headrace.config.declare import BYTES, HIGH, LOW
from headrace.config.names import raise_if_unknown
from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.config.option import Value

_NOTHING: Mapping[str, str] = {}


class Layers(NamedTuple):
    """What was set, and where; the first layer that has a name wins."""

    dynamic: Mapping[str, str] = _NOTHING
    """Set at run time, for this broker."""
    dynamic_default: Mapping[str, str] = _NOTHING
    """Set at run time, for every broker."""
    static: Mapping[str, str] = _NOTHING
    """Given at the start: file, environment, flags."""


@dataclass(frozen=True, kw_only=True)
class BrokerConfig(
    LogSettings,
    GroupSettings,
    NetworkSettings,
    SecuritySettings,
    AccessSettings,
    QuotaSettings,
    ReplicationSettings,
    TableSettings,
):
    """All broker options as typed attributes (``log.segment.bytes`` is ``log_segment_bytes``)."""

    node_id: int = declare.integer(
        "node.id", 1, "Number of this broker.", minimum=0, importance=HIGH
    )
    broker_rack: str | None = declare.optional_text(
        "broker.rack", "Rack or zone of this broker; clients may prefer brokers in their own."
    )
    log_dirs: tuple[str, ...] = declare.items(
        "log.dirs", "data", "The data directory; set by serve --data.", importance=HIGH
    )
    num_partitions: int = declare.integer(
        "num.partitions",
        1,
        "Partitions of a topic that is created without saying how many.",
        unit="partitions",
        minimum=1,
        dynamic=True,
    )
    default_replication_factor: int = declare.integer(
        "default.replication.factor",
        1,
        "Replicas of a topic that is created without saying.",
        minimum=1,
        dynamic=True,
    )
    auto_create_topics_enable: bool = declare.boolean(
        "auto.create.topics.enable",
        True,
        "Create a topic when a client first asks for it.",
        importance=HIGH,
        dynamic=True,
    )
    delete_topic_enable: bool = declare.boolean(
        "delete.topic.enable", True, "Whether topics can be deleted.", importance=HIGH
    )
    background_threads: int = declare.integer(
        "background.threads",
        4,
        "Threads for fsync, compaction and deletion of files.",
        unit="threads",
        minimum=1,
        maximum=64,
        importance=HIGH,
    )
    open_files_max: int = declare.integer(
        "headrace.open.files.max",
        2_000,
        "Most segment files that are kept open at a time.",
        unit="files",
        minimum=16,
    )
    write_ahead_log_bytes_max: int = declare.long(
        "headrace.write.ahead.log.bytes.max",
        256 * 2**20,
        "Size of the write-ahead log at which segments are flushed and the log is cut.",
        unit=BYTES,
        minimum=2**20,
    )
    decompressed_bytes_max: int = declare.integer(
        "headrace.decompressed.bytes.max",
        128 * 2**20,
        "Largest size to which one batch is unpacked, where the broker must look inside.",
        unit=BYTES,
        minimum=2**20,
        importance=LOW,
    )
    partitions_max: int = declare.integer(
        "headrace.partitions.max",
        200_000,
        "Most partitions on this broker.",
        unit="partitions",
        minimum=1,
        dynamic=True,
    )
    layers: Layers = field(default=Layers(), repr=False, compare=False)

    @classmethod
    def resolve(
        cls,
        settings: Mapping[str, str] = _NOTHING,
        *,
        dynamic: Mapping[str, str] = _NOTHING,
        dynamic_default: Mapping[str, str] = _NOTHING,
    ) -> BrokerConfig:
        """Settings by name -> values; InvalidConfig for an unknown name or a value out of range."""
        layers = Layers(dict(dynamic), dict(dynamic_default), dict(settings))
        values: dict[str, Any] = {}
        for layer in reversed(layers):
            for name, text in layer.items():
                raise_if_unknown(name, BROKER_OPTIONS, "broker option")
                values[_ATTRIBUTES[name]] = BROKER_OPTIONS[name].parse(text)
        config = cls(**values, layers=layers)
        config._raise_if_inconsistent()
        return config

    def _raise_if_inconsistent(self) -> None:
        for low, high in ORDERED_PAIRS:
            below, above = getattr(self, _ATTRIBUTES[low]), getattr(self, _ATTRIBUTES[high])
            if below > above:
                raise InvalidConfig(f"{low}={below}: expected at most {high}={above}")
        if "classic" not in self.group_coordinator_rebalance_protocols:
            raise InvalidConfig(
                "group.coordinator.rebalance.protocols: the classic protocol cannot be left out"
            )


ORDERED_PAIRS = (
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    ("group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"),
    ("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
)

BROKER_OPTIONS = declare.catalogue(BrokerConfig)
_ATTRIBUTES = declare.attributes(BrokerConfig)


def broker_value(config: BrokerConfig, name: str) -> Value:
    """The value of an option by its dotted name."""
    value: Value = getattr(config, _ATTRIBUTES[name])
    return value


def raise_if_invalid_broker_config(name: str, value: str) -> None:
    """InvalidConfig if there is no such broker option, or it does not take this value."""
    raise_if_unknown(name, BROKER_OPTIONS, "broker option")
    BROKER_OPTIONS[name].parse(value)


def settings_without_effect(settings: Iterable[str]) -> list[str]:
    """A sentence for each of these names whose option does nothing here."""
    return [
        f"{name} is set, without effect: {BROKER_OPTIONS[name].no_effect}"
        for name in sorted(settings)
        if BROKER_OPTIONS[name].no_effect
    ]


def raise_if_not_dynamic(name: str) -> None:
    """InvalidConfig if the option can only be changed by a restart."""
    raise_if_unknown(name, BROKER_OPTIONS, "broker option")
    if not BROKER_OPTIONS[name].dynamic:
        raise InvalidConfig(
            f"{name} cannot be changed while the broker runs: set it in the configuration file, "
            "or with --set, and restart"
        )
