"""Options about access control."""

from __future__ import annotations

import pytest

from headrace.config.broker import BrokerConfig
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.model.errors import InvalidConfig


def test_nothing_is_enforced_unless_asked_for() -> None:
    config = BrokerConfig.resolve()
    assert config.authorizer_class_name == ""
    assert config.super_users == ""
    assert config.allow_everyone_if_no_acl_found is False


def test_authorizer_of_kafka_is_the_only_one() -> None:
    name = "authorizer.class.name"
    assert BrokerConfig.resolve({name: STANDARD_AUTHORIZER}).authorizer_class_name
    with pytest.raises(InvalidConfig, match="StandardAuthorizer"):
        BrokerConfig.resolve({name: "kafka.security.authorizer.AclAuthorizer"})
