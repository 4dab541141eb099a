"""``${NAME}`` in a definition stands for an environment variable, so that no secret is in a file.

Values are filled in where the job runs, at the last moment: the copy in the state directory, the
status and the log keep the placeholder. ``$${`` is a literal ``${``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.pipeline.jobs.errors import InvalidDefinition

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def fill_in(value: Any, environment: Mapping[str, str], field: str = "") -> Any:
    """``value`` with all variables in it, however deep; InvalidDefinition for one that is not set.

    ``field`` is for the message: the value's place in the definition.
    """
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda found: _replacement(found, environment, field), value)
    if isinstance(value, dict):
        return {
            name: fill_in(each, environment, f"{field}.{name}".lstrip("."))
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [fill_in(each, environment, field) for each in value]
    return value


def _replacement(found: re.Match[str], environment: Mapping[str, str], field: str) -> str:
    if found[0] == "$${":
        return "${"
    name = found[1]
    if not _NAME.fullmatch(name):
        raise InvalidDefinition(
            f"{field}: {found[0]} names no environment variable; write $${{ for a literal ${{"
        )
    if name not in environment:
        raise InvalidDefinition(f"{field}: the environment variable {name} is not set")
    return environment[name]
