"""Changes of settings: pure, all or nothing, and checked as a whole."""

from __future__ import annotations

import pytest

from headrace.config.alter import (
    Change,
    Operation,
    alter_broker,
    alter_topic,
    replace_broker,
    replace_topic,
)
from headrace.config.broker import BrokerConfig
from headrace.model.errors import InvalidConfig, InvalidRequest

BROKER = BrokerConfig.resolve()


def test_set_and_delete_change_only_what_they_name() -> None:
    before = {"retention.ms": "5", "segment.ms": "6"}
    changes = [
        Change("retention.ms", Operation.DELETE),
        Change("retention.bytes", Operation.SET, "7"),
    ]
    assert alter_topic(before, changes, BROKER) == {"segment.ms": "6", "retention.bytes": "7"}
    assert before == {"retention.ms": "5", "segment.ms": "6"}


def test_delete_of_what_is_not_set_does_nothing() -> None:
    assert alter_topic({}, [Change("retention.ms", Operation.DELETE)], BROKER) == {}


def test_append_starts_from_the_value_in_force_and_is_idempotent() -> None:
    append = [Change("cleanup.policy", Operation.APPEND, "compact")]
    once = alter_topic({}, append, BROKER)
    assert once == {"cleanup.policy": "delete,compact"}
    assert alter_topic(once, append, BROKER) == once


def test_subtract_takes_items_away() -> None:
    before = {"cleanup.policy": "compact,delete"}
    changes = [Change("cleanup.policy", Operation.SUBTRACT, "delete,delete")]
    assert alter_topic(before, changes, BROKER) == {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (Change("retention.ms", Operation.APPEND, "5"), "append works on lists only"),
        (Change("retention.ms", Operation.SET), "set needs a value"),
        (Change("retention.ms", Operation.SET, "x"), "retention.ms=x"),
        (Change("cleanup.policy", Operation.APPEND, "burn"), "delete,burn: expected"),
        (Change("nonsense.ms", Operation.DELETE), "unknown topic option"),
        (Change("min.compaction.lag.ms", Operation.SET, "9"), "expected at most"),
    ],
)
def test_illegal_change_is_refused(change: Change, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        alter_topic({"max.compaction.lag.ms": "8"}, [change], BROKER)


def test_name_twice_in_one_request_is_refused() -> None:
    twice = [Change("retention.ms", Operation.SET, "1"), Change("retention.ms", Operation.DELETE)]
    with pytest.raises(InvalidRequest, match="named twice"):
        alter_topic({}, twice, BROKER)


def test_broker_takes_dynamic_options_only() -> None:
    changes = [Change("log.retention.ms", Operation.SET, "5")]
    assert alter_broker({}, changes, BROKER) == {"log.retention.ms": "5"}
    with pytest.raises(InvalidConfig, match="restart"):
        alter_broker({}, [Change("node.id", Operation.SET, "5")], BROKER)


def test_broker_list_grows_from_its_static_value() -> None:
    static = BrokerConfig.resolve({"log.cleanup.policy": "compact"})
    changes = [Change("log.cleanup.policy", Operation.APPEND, "delete")]
    assert alter_broker({}, changes, static) == {"log.cleanup.policy": "compact,delete"}


def test_replacement_forgets_what_it_does_not_name() -> None:
    assert replace_topic({"retention.ms": "5", "segment.ms": None}, BROKER) == {"retention.ms": "5"}
    assert replace_broker({"log.retention.ms": "5"}, BROKER) == {"log.retention.ms": "5"}
    with pytest.raises(InvalidConfig):
        replace_topic({"retention.ms": "x"}, BROKER)
    with pytest.raises(InvalidConfig):
        replace_broker({"node.id": "1"}, BROKER)
