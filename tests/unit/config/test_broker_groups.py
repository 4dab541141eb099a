"""The broker's options about groups."""

from __future__ import annotations

import pytest

from headrace.config.broker import BrokerConfig
from headrace.config.broker_groups import GroupSettings
from headrace.model.errors import InvalidConfig


def test_internal_topics_fit_on_one_broker() -> None:
    settings = GroupSettings()
    assert settings.offsets_topic_replication_factor == 1
    assert settings.transaction_state_log_replication_factor == 1


def test_uniform_is_the_assignor_of_groups_that_name_none() -> None:
    assert GroupSettings().group_consumer_assignors[0] == "uniform"


def test_classic_protocol_cannot_be_left_out() -> None:
    name = "group.coordinator.rebalance.protocols"
    assert BrokerConfig.resolve({name: "classic"}).group_coordinator_rebalance_protocols == (
        "classic",
    )
    with pytest.raises(InvalidConfig, match="classic protocol cannot be left out"):
        BrokerConfig.resolve({name: "consumer"})


def test_migration_of_groups_with_members_is_not_promised() -> None:
    assert GroupSettings().group_consumer_migration_policy == "disabled"
    with pytest.raises(InvalidConfig, match="expected one of disabled"):
        BrokerConfig.resolve({"group.consumer.migration.policy": "bidirectional"})
