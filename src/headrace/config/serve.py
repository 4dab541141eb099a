"""What ``headrace serve`` needs to know: everything that is settled before the broker starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from headrace.config import declare
from headrace.config.broker import BROKER_OPTIONS, BrokerConfig
from headrace.config.declare import HIGH
from headrace.config.listener_options import ListenerSettings, canonical_name, is_listener_setting
from headrace.config.listeners import Listener, parse_listeners
from headrace.config.names import raise_if_unknown
from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """Options of the process; in files they stand beside those of the broker."""

    data: str = declare.text(
        "data", "data", "The data directory; made if it does not exist.", importance=HIGH
    )
    listen: tuple[str, ...] = declare.items(
        "listen",
        "kafka://127.0.0.1:9092,http://127.0.0.1:8080",
        "Where to listen: one URL per front door; port 0 takes a free one; "
        "?advertise=HOST:PORT is what clients are told.",
        importance=HIGH,
    )
    allow_remote: bool = declare.boolean(
        "allow.remote",
        False,
        "Listen also on addresses that other machines can reach, without authentication.",
    )
    log_format: str = declare.text(
        "log.format",
        "text",
        "Log lines as text with key=value, or one JSON object per line.",
        choices=("text", "json"),
    )
    log_level: str = declare.text(
        "log.level",
        "info",
        "The least important kind of line that is logged.",
        choices=("debug", "info", "warning", "error"),
    )


PROCESS_OPTIONS = declare.catalogue(ProcessOptions)
_ATTRIBUTES = declare.attributes(ProcessOptions)

SERVE_OPTIONS = PROCESS_OPTIONS | BROKER_OPTIONS
"""Everything that a configuration file, the environment or ``--set`` may name."""


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """What the launcher is started with; all of it has been checked."""

    data_directory: str = "data"
    listeners: tuple[Listener, ...] = (Listener("kafka", "127.0.0.1", 9092),)
    broker_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """For ``BrokerConfig.resolve``."""
    allow_remote: bool = False
    log_format: str = "text"
    log_level: str = "info"

    @classmethod
    def resolve(cls, settings: Mapping[str, str]) -> ServeSettings:
        """Settings by name, of process and broker; InvalidConfig for anything that is wrong."""
        process_values: dict[str, object] = {}
        broker_settings: dict[str, str] = {}
        listener_settings: dict[str, str] = {}
        for name, text in settings.items():
            if is_listener_setting(name):
                listener_settings[canonical_name(name)] = text
                continue
            raise_if_unknown(name, SERVE_OPTIONS, "option")
            if name in PROCESS_OPTIONS:
                process_values[_ATTRIBUTES[name]] = PROCESS_OPTIONS[name].parse(text)
            else:
                broker_settings[name] = text
        process = ProcessOptions(**process_values)  # type: ignore[arg-type]
        if "data" in settings:
            broker_settings.setdefault("log.dirs", process.data)
        broker = BrokerConfig.resolve(broker_settings)
        if len(broker.log_dirs) != 1:
            raise InvalidConfig("log.dirs: expected one directory; several are not supported yet")
        (directory,) = broker.log_dirs
        if "data" in settings and directory != process.data:
            raise InvalidConfig(f"data={process.data} and log.dirs={directory}: give one of them")
        broker_settings["log.dirs"] = directory
        return cls(
            data_directory=directory,
            listeners=_listeners(
                process,
                ListenerSettings(broker_settings | listener_settings),
                is_default="listen" not in settings,
            ),
            broker_settings=broker_settings,
            allow_remote=process.allow_remote,
            log_format=process.log_format,
            log_level=process.log_level,
        )


def _listeners(
    process: ProcessOptions, settings: ListenerSettings, *, is_default: bool
) -> tuple[Listener, ...]:
    """Nobody asked for the metrics of a default start, so they are no reason to fail."""
    listeners = parse_listeners(
        process.listen, allow_remote=process.allow_remote, settings=settings
    )
    return tuple(
        replace(listener, is_optional=is_default and listener.scheme == "http")
        for listener in listeners
    )
