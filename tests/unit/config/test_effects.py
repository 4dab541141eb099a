"""No option promises more than it does: the product reads it, or its declaration says why not."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import headrace
from headrace.config import declare
from headrace.config.broker import (
    BROKER_OPTIONS,
    ORDERED_PAIRS,
    BrokerConfig,
    settings_without_effect,
)
from headrace.config.describe import describe_broker, describe_topic
from headrace.config.serve import PROCESS_OPTIONS, ProcessOptions
from headrace.config.topic import TOPIC_OPTIONS, TopicConfig

PACKAGE = Path(headrace.__file__).parent
DECLARATIONS = {
    "config/broker.py",
    "config/broker_groups.py",
    "config/broker_log.py",
    "config/broker_network.py",
    "config/broker_security.py",
    "config/topic.py",
}
BOUNDS = {name for pair in ORDERED_PAIRS for name in pair}
"""The resolution of the settings itself holds these against each other."""


@cache
def attributes_read() -> frozenset[str]:
    """Every attribute that any module of the product reads, declarations and tests' aids aside."""
    read: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if name in DECLARATIONS or name.startswith(("testing/", "codecs/")):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read.add(node.attr)
    return frozenset(read)


def is_read(settings: type, name: str) -> bool:
    return declare.attributes(settings)[name] in attributes_read()


def topic_options_that_inherit(name: str) -> list[str]:
    return [
        option.name
        for option in TOPIC_OPTIONS.values()
        if name in {synonym.name for synonym in option.synonyms}
    ]


def topic_option_works(name: str) -> bool:
    return is_read(TopicConfig, name)


def broker_option_works(name: str) -> bool:
    inheriting = topic_options_that_inherit(name)
    if inheriting:
        return all(topic_option_works(each) for each in inheriting)
    return name in BOUNDS or is_read(BrokerConfig, name)


@pytest.mark.parametrize("name", BROKER_OPTIONS)
def test_broker_option_works_or_says_that_it_does_not(name: str) -> None:
    assert broker_option_works(name) != bool(BROKER_OPTIONS[name].no_effect)


@pytest.mark.parametrize("name", TOPIC_OPTIONS)
def test_topic_option_works_or_says_that_it_does_not(name: str) -> None:
    assert topic_option_works(name) != bool(TOPIC_OPTIONS[name].no_effect)


@pytest.mark.parametrize("name", PROCESS_OPTIONS)
def test_process_option_works(name: str) -> None:
    assert is_read(ProcessOptions, name)


def test_reason_is_part_of_what_clients_are_told() -> None:
    entries = [*describe_broker(BrokerConfig()), *describe_topic({}, BrokerConfig())]
    told = {entry.name: entry.documentation for entry in entries}
    reason = "Without effect: a single broker waits for no other."
    assert told["request.timeout.ms"].endswith(reason)
    assert told["preallocate"].endswith("Without effect: segment files grow as they are written.")
    assert "Without effect" not in told["retention.ms"]


def test_setting_without_effect_is_told_once_each() -> None:
    settings = {"request.timeout.ms": "1", "num.partitions": "2", "log.preallocate": "true"}
    assert settings_without_effect(settings) == [
        "log.preallocate is set, without effect: segment files grow as they are written.",
        "request.timeout.ms is set, without effect: a single broker waits for no other.",
    ]


def test_reasons_are_sentences() -> None:
    for option in [*BROKER_OPTIONS.values(), *TOPIC_OPTIONS.values()]:
        if option.no_effect:
            assert option.no_effect.endswith(".")
            assert option.no_effect[0].islower(), "it continues a sentence"
