"""The broker's options about groups."""

from __future__ import annotations

from headrace.config.broker_groups import GroupSettings


def test_internal_topics_fit_on_one_broker() -> None:
    settings = GroupSettings()
    assert settings.offsets_topic_replication_factor == 1
    assert settings.transaction_state_log_replication_factor == 1


def test_uniform_is_the_assignor_of_groups_that_name_none() -> None:
    assert GroupSettings().group_consumer_assignors[0] == "uniform"
