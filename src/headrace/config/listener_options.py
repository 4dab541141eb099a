"""Settings of one listener: ``listener.name.NAME.OPTION``, as Kafka spells them.

A listener's name is what its URL says (``?name=external``), else its kind: ``plaintext``, ``ssl``,
``sasl_plaintext``, ``sasl_ssl``. In the environment and in tables of a file a name with ``_`` may
come as one with dots; it is the same name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.config.broker_security import SECURITY_OPTIONS, security_settings
from headrace.config.names import maybe_nearest
from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headrace.config.broker_security import SecuritySettings
    from headrace.config.option import Option

PREFIX = "listener.name."
OWN_PREFIX = "headrace."
LISTENER_NAME = re.compile(r"[a-z0-9_-]{1,64}")


def is_listener_setting(name: str) -> bool:
    """Whether a setting is meant for one listener, known or not."""
    return name.startswith(PREFIX)


def split(setting: str) -> tuple[str, Option]:
    """The listener's name and the option; InvalidConfig if there is no such option."""
    words = setting.removeprefix(PREFIX).split(".")
    for count in range(1, len(words)):
        rest = ".".join(words[count:])
        option = SECURITY_OPTIONS.get(rest) or SECURITY_OPTIONS.get(OWN_PREFIX + rest)
        if option is not None:
            name = "_".join(words[:count]).lower()
            if not LISTENER_NAME.fullmatch(name):
                raise InvalidConfig(f"{setting}: {name!r} cannot be the name of a listener")
            return name, option
    nearest = maybe_nearest(".".join(words[1:]), SECURITY_OPTIONS)
    hint = f"; did you mean {PREFIX}{words[0]}.{nearest}?" if nearest else ""
    raise InvalidConfig(f"{setting}: a listener has no such option{hint}")


def canonical_name(setting: str) -> str:
    """The one spelling of a listener's setting."""
    name, option = split(setting)
    return f"{PREFIX}{name}.{option.name}"


class ListenerSettings:
    """The security settings of all listeners: what is set for one, else what is set for all."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        """``settings`` by name; those of other options are passed over."""
        self._for_all: dict[str, str] = {}
        self._by_listener: dict[str, dict[str, str]] = {}
        for setting, text in (settings or {}).items():
            if is_listener_setting(setting):
                name, option = split(setting)
                self._by_listener.setdefault(name, {})[option.name] = text
            elif setting in SECURITY_OPTIONS:
                self._for_all[setting] = text

    def of(self, name: str) -> SecuritySettings:
        """What holds for the listener of this name."""
        return security_settings(self._for_all, self._by_listener.get(name, {}))

    def raise_if_for_nobody(self, names: Iterable[str]) -> None:
        """A setting for a listener that does not exist is a mistake."""
        known = sorted(set(names))
        for name in self._by_listener:
            if name not in known:
                raise InvalidConfig(
                    f"{PREFIX}{name}: there is no such listener; there are: {', '.join(known)}"
                )
