"""What ``config explain`` says."""

from __future__ import annotations

import pytest

from headrace.cli.explanation import explanations, summaries
from headrace.model.errors import InvalidConfig


def test_topic_option_is_explained_with_its_synonyms() -> None:
    (found,) = explanations("retention.ms")
    assert found["scope"] == "topic"
    assert found["accepts"] == "a whole number of milliseconds >= -1"
    assert found["default"] == "604800000"
    assert found["inherits_from"] == [
        "log.retention.ms",
        "log.retention.minutes",
        "log.retention.hours",
    ]
    assert found["set_with"] == "headrace config set --topic TOPIC retention.ms=VALUE"


def test_broker_option_names_its_variable_and_when_it_takes_effect() -> None:
    (found,) = explanations("open.files.max")
    assert found["name"] == "headrace.open.files.max"
    assert found["takes_effect"] == "after a restart"
    assert "HEADRACE_OPEN_FILES_MAX=VALUE" in str(found["set_with"])


def test_option_without_effect_says_why() -> None:
    (found,) = explanations("offsets.commit.timeout.ms")
    assert str(found["meaning"]).endswith("Without effect: a single broker waits for no replica.")
    assert found["takes_effect"] == "never"


def test_name_of_both_is_explained_twice() -> None:
    assert [each["scope"] for each in explanations("durability")] == ["topic", "broker"]


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidConfig, match=r"did you mean retention\.ms"):
        explanations("retention.msec")


def test_summaries_cover_all_scopes() -> None:
    assert {each["scope"] for each in summaries()} == {"topic", "broker", "process"}
    assert "internal.segment.bytes" not in {each["name"] for each in summaries()}
