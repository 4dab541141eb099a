"""Settings from a TOML file, then the environment, then flags; the later wins.

A dotted name can be written as a quoted key (``"log.retention.ms" = 1000``) or as tables
(``[log.retention]`` with ``ms = 1000``). In the environment it is ``HEADRACE_LOG_RETENTION_MS``.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from headrace.config.listener_options import canonical_name, is_listener_setting
from headrace.config.names import maybe_nearest
from headrace.config.serve import SERVE_OPTIONS
from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

ENVIRONMENT_PREFIX = "HEADRACE_"
OWN_PREFIX = "headrace."
FILE_BYTES_MAX = 2**20

RESERVED_VARIABLES = (
    "HEADRACE_BOOTSTRAP",
    "HEADRACE_CONFIG",
    "HEADRACE_STATE",
    "HEADRACE_TRACEBACK",
)
RESERVED_PREFIX = "HEADRACE_TEST_"
"""Read by the command line and by tests; not settings."""

# Kubernetes gives every pod variables about each service, HEADRACE_SERVICE_HOST and such for one
# that is called headrace. They are nobody's settings.
_SERVICE_LINK = re.compile(r"(^|_)(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_[A-Z]+(_\w+)?)?)$")


def load_settings(
    file: Path | None, environment: Mapping[str, str], flags: Sequence[str]
) -> dict[str, str]:
    """Settings by name, as text, from all three places; unknown names are refused by name."""
    settings: dict[str, str] = {}
    if file is not None:
        settings |= from_file(file)
    settings |= from_environment(environment)
    settings |= from_flags(flags)
    return settings


def from_file(file: Path) -> dict[str, str]:
    """The settings in a TOML file."""
    try:
        with file.open("rb") as opened:
            content = opened.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise InvalidConfig(f"cannot read {file}: {error.strerror}") from error
    if len(content) > FILE_BYTES_MAX:
        raise InvalidConfig(f"{file} is larger than {FILE_BYTES_MAX} bytes")
    try:
        return from_toml(content.decode("utf-8"))
    except (UnicodeDecodeError, InvalidConfig) as error:
        raise InvalidConfig(f"{file}: {error}") from error


def from_toml(text: str) -> dict[str, str]:
    """The settings in a TOML text."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidConfig(
            f'{error}; where one name continues another, quote both: "max.connections" = 100'
        ) from error
    settings: dict[str, str] = {}
    for name, value in _flatten(document, ""):
        known = _known_name(name, name)
        if known in settings:
            raise InvalidConfig(f"{known} is given twice")
        settings[known] = _text_of(known, value)
    return settings


def from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings among the environment's variables."""
    settings: dict[str, str] = {}
    for variable, value in environment.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or _is_reserved(variable):
            continue
        rest = variable.removeprefix(ENVIRONMENT_PREFIX)
        name = rest.lower().replace("_", ".")
        if not _is_known(name) and _SERVICE_LINK.search(rest):
            continue
        settings[_known_name(name, f"{variable} in the environment")] = value
    return settings


def from_flags(flags: Sequence[str]) -> dict[str, str]:
    """The settings of ``--set NAME=VALUE``; a later one wins."""
    settings: dict[str, str] = {}
    for flag in flags:
        name, equals, value = flag.partition("=")
        if not equals:
            raise InvalidConfig(f"--set {flag}: expected NAME=VALUE")
        settings[_known_name(name.strip(), f"--set {name.strip()}")] = value
    return settings


def _flatten(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _text_of(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, (int, str)) for item in value):
        return ",".join(str(item) for item in value)
    raise InvalidConfig(f"{name}: expected text, a number, true, false, or a list of texts")


def _is_reserved(variable: str) -> bool:
    return variable in RESERVED_VARIABLES or variable.startswith(RESERVED_PREFIX)


def _is_known(name: str) -> bool:
    return name in SERVE_OPTIONS or OWN_PREFIX + name in SERVE_OPTIONS or is_listener_setting(name)


def _known_name(name: str, where: str) -> str:
    """Our own options may be named without their prefix."""
    if name in SERVE_OPTIONS:
        return name
    if OWN_PREFIX + name in SERVE_OPTIONS:
        return OWN_PREFIX + name
    if is_listener_setting(name):
        return canonical_name(name)
    nearest = maybe_nearest(name, SERVE_OPTIONS)
    hint = f"; did you mean {nearest}?" if nearest else "; see: headrace config explain"
    raise InvalidConfig(f"{where}: there is no such option{hint}")
