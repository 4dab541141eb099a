"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: what is refused before any group is asked."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.consumer_group_describe import ConsumerGroupDescribeRequest
from headrace.codecs.kafka.generated.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from headrace.frontends.kafka.handlers import (
    api_68_consumer_group_heartbeat,
    api_69_consumer_group_describe,
)
from headrace.testing.group_door import GroupDoor

UNSUPPORTED_VERSION, INVALID_REQUEST = 35, 42
PROTOCOLS = "group.coordinator.rebalance.protocols"


def heartbeat(group_id: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )


@pytest.mark.parametrize(
    ("protocols", "group_id", "code"),
    [
        ("classic,consumer", "g", 0),
        ("classic,consumer", "", INVALID_REQUEST),
        ("classic", "g", UNSUPPORTED_VERSION),
    ],
)
def test_heartbeat(protocols: str, group_id: str, code: int) -> None:
    door = GroupDoor({PROTOCOLS: protocols})
    call = door.send(api_68_consumer_group_heartbeat, heartbeat(group_id), 1)
    door.pass_seconds(1)
    assert call.response.error_code == code
    assert (call.response.error_message is None) == (code == 0)


def test_groups_are_not_described_where_the_protocol_is_left_out() -> None:
    door = GroupDoor({PROTOCOLS: "classic"})
    request = ConsumerGroupDescribeRequest(group_ids=["a", "b"])
    answer = door.call(api_69_consumer_group_describe, request, 1)
    assert [(group.group_id, group.error_code) for group in answer.groups] == [
        ("a", UNSUPPORTED_VERSION),
        ("b", UNSUPPORTED_VERSION),
    ]
