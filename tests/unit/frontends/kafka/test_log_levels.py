"""Log levels by Kafka's names."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from headrace.frontends.kafka.log_levels import log_levels, reset_log_level, set_log_level
from headrace.model.errors import InvalidConfig, InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "headrace.frontends.test_log_levels"


@pytest.fixture(autouse=True)
def _levels_are_put_back() -> Iterator[None]:
    logger, root_level = logging.getLogger(NAME), logging.root.level
    yield
    logger.setLevel(logging.NOTSET)
    logging.root.setLevel(root_level)


def test_level_follows_the_parent_until_it_is_set() -> None:
    set_log_level("root", "error")
    assert log_levels()[NAME] == "ERROR"
    set_log_level(NAME, "DEBUG")
    assert log_levels()[NAME] == "DEBUG"
    reset_log_level(NAME)
    assert log_levels()[NAME] == "ERROR"


def test_loggers_of_others_are_none_of_our_business() -> None:
    logging.getLogger("somebody.else")
    assert "somebody.else" not in log_levels()
    with pytest.raises(InvalidConfig, match="no logger"):
        set_log_level("somebody.else", "INFO")


def test_illegal_changes_are_refused() -> None:
    with pytest.raises(InvalidConfig, match="LOUD"):
        set_log_level(NAME, "LOUD")
    with pytest.raises(InvalidConfig, match="no logger"):
        reset_log_level("headrace.no.such.thing")
    with pytest.raises(InvalidRequest, match="root"):
        reset_log_level("root")


def test_validation_alone_changes_nothing() -> None:
    before = log_levels()
    set_log_level(NAME, "FATAL", validate_only=True)
    set_log_level("root", "FATAL", validate_only=True)
    assert log_levels() == before
