"""What ``headrace config explain`` says: from the declarations of the options, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.config.broker import BROKER_OPTIONS
from headrace.config.load import ENVIRONMENT_PREFIX, OWN_PREFIX
from headrace.config.names import raise_if_unknown
from headrace.config.serve import PROCESS_OPTIONS
from headrace.config.topic import TOPIC_OPTIONS

if TYPE_CHECKING:
    from headrace.cli.output import Row
    from headrace.config.option import Option

_SCOPES = {"topic": TOPIC_OPTIONS, "broker": BROKER_OPTIONS, "process": PROCESS_OPTIONS}


def summaries() -> list[Row]:
    """All options, one row each."""
    return [
        {"name": name, "scope": scope, "default": option.default, "help": option.documentation}
        for scope, options in _SCOPES.items()
        for name, option in options.items()
        if not option.internal
    ]


def explanations(name: str) -> list[Row]:
    """Everything about the options with this name: of topics, of brokers, or of both."""
    known = TOPIC_OPTIONS | BROKER_OPTIONS | PROCESS_OPTIONS
    found = OWN_PREFIX + name if OWN_PREFIX + name in known else name
    raise_if_unknown(found, known, "option")
    return [
        _explanation(scope, options[found])
        for scope, options in _SCOPES.items()
        if found in options
    ]


def _explanation(scope: str, option: Option) -> Row:
    return {
        "name": option.name,
        "scope": scope,
        "meaning": option.documentation,
        "type": option.kind.value,
        "accepts": option.expectation.removeprefix("expected "),
        "default": "not set" if option.default is None else option.default,
        "importance": option.importance.value,
        "takes_effect": _when_it_takes_effect(scope, option),
        "inherits_from": [synonym.name for synonym in option.synonyms],
        "set_with": _how_to_set(scope, option),
    }


def _when_it_takes_effect(scope: str, option: Option) -> str:
    if option.no_effect:
        return "never"
    return "at once" if option.dynamic or scope == "topic" else "after a restart"


def _how_to_set(scope: str, option: Option) -> str:
    if scope == "topic":
        return f"headrace config set --topic TOPIC {option.name}=VALUE"
    variable = option.name.removeprefix(OWN_PREFIX).upper().replace(".", "_")
    return f"headrace serve --set {option.name}=VALUE, or {ENVIRONMENT_PREFIX}{variable}=VALUE"
