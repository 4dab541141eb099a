"""From a certificate's subject to a user name: Kafka's ``ssl.principal.mapping.rules``.

``RULE:pattern/replacement/[LU]`` and ``DEFAULT``, separated by commas; the first rule whose pattern
matches the whole subject wins. Patterns are matched by RE2, since clients bring the subjects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import re2

from headrace.model.errors import AuthenticationFailed, InvalidConfig

RULES_CHARACTERS_MAX = 65_536
RULES_MAX = 256
PATTERN_MEMORY_BYTES_MAX = 1 << 20
NAME_CHARACTERS_MAX = 4_096

_RULE = re.compile(
    r"""\s*(?:
        (?P<default>DEFAULT)
      | RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?)
      |
    )\s*(?:,|\Z)""",
    re.VERBOSE | re.DOTALL,
)
_REPLACEMENT_PART = re.compile(r"\\(?P<escaped>.)|\$(?P<group>[0-9]+)|(?P<text>[^\\$]+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: Any
    """None: DEFAULT, the subject as it is."""
    replacement: tuple[str | int, ...] = ()
    """Texts, and numbers of groups."""
    case: str = ""

    def maybe_apply(self, subject: str) -> str | None:
        if self.pattern is None:
            return subject
        if self.pattern.fullmatch(subject) is None:
            return None
        # As in Kafka: the whole must match, then every match of the pattern is replaced.
        name: str = self.pattern.sub(self._expand, subject)
        if self.case == "L":
            return name.lower()
        return name.upper() if self.case == "U" else name

    def _expand(self, match: Any) -> str:
        return "".join(
            part if isinstance(part, str) else match.group(part) or "" for part in self.replacement
        )


class PrincipalMapping:
    """The rules of one listener."""

    def __init__(self, rules: str = "DEFAULT") -> None:
        """InvalidConfig if the rules cannot be read."""
        self._rules = _parse(rules)

    def user_name(self, subject: str) -> str:
        """The user name for a subject; AuthenticationFailed if no rule fits."""
        for rule in self._rules:
            name = rule.maybe_apply(subject)
            if name is not None:
                if not 0 < len(name) <= NAME_CHARACTERS_MAX:
                    raise AuthenticationFailed("the mapped name is empty or too long")
                return name
        raise AuthenticationFailed("no principal mapping rule fits the certificate's subject")


def _parse(text: str) -> tuple[_Rule, ...]:
    if len(text) > RULES_CHARACTERS_MAX:
        raise InvalidConfig(f"the mapping rules exceed {RULES_CHARACTERS_MAX} characters")
    rules: list[_Rule] = []
    position = 0
    while position < len(text):
        found = _RULE.match(text, position)
        if found is None or len(rules) == RULES_MAX:
            raise InvalidConfig(f"not a principal mapping rule: {text[position:]!r}")
        position = found.end()
        if found["default"]:
            rules.append(_Rule(None))
        elif found["pattern"] is not None:
            rules.append(_rule(found["pattern"], found["replacement"], found["case"]))
    return tuple(rules) or (_Rule(None),)


def _rule(pattern: str, replacement: str, case: str) -> _Rule:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = PATTERN_MEMORY_BYTES_MAX
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        raise InvalidConfig(f"the pattern {pattern!r} is not valid: {error}") from error
    return _Rule(compiled, _parse_replacement(replacement, compiled.groups), case)


def _parse_replacement(text: str, groups: int) -> tuple[str | int, ...]:
    """Java's syntax: ``$1`` is a group, a backslash takes the next character as it is."""
    parts: list[str | int] = []
    position = 0
    while position < len(text):
        found = _REPLACEMENT_PART.match(text, position)
        if found is None:
            raise InvalidConfig(f"the replacement {text!r} has a '$' without a number after it")
        position = found.end()
        if found["group"]:
            parts.extend(_reference(found["group"], groups))
        else:
            parts.append(found["escaped"] or found["text"])
    return tuple(parts)


def _reference(digits: str, groups: int) -> tuple[str | int, ...]:
    """As many digits as make a group that exists; a group that does not exist is plain text."""
    for end in range(len(digits), 0, -1):
        if int(digits[:end]) <= groups:
            return int(digits[:end]), digits[end:]
    return (f"${digits}",)
