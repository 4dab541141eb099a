"""What all message classes share."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.consumer_group_describe import Assignment, Member
from headrace.codecs.kafka.generated.heartbeat import HeartbeatRequest
from headrace.codecs.kafka.generated.metadata import MetadataRequest, MetadataRequestTopic


def test_equal_fields_make_equal_messages() -> None:
    first = MetadataRequest(topics=[MetadataRequestTopic(name="a")])
    second = MetadataRequest(topics=(MetadataRequestTopic(name="a"),))
    assert first == second
    assert first != MetadataRequest(topics=[MetadataRequestTopic(name="b")])
    assert first != MetadataRequest(topics=None)


def test_messages_of_other_classes_are_not_equal() -> None:
    assert HeartbeatRequest() != MetadataRequest()
    assert HeartbeatRequest() != "HeartbeatRequest"


def test_messages_are_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(HeartbeatRequest())


def test_messages_have_no_other_attributes() -> None:
    request = HeartbeatRequest()
    with pytest.raises(AttributeError):
        request.groupid = "typo"


def test_repr_names_every_field() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    assert repr(request) == (
        "HeartbeatRequest(group_id='g', generation_id=3, member_id='m', group_instance_id=None)"
    )


def test_required_struct_defaults_to_a_fresh_one() -> None:
    first, second = Member(), Member()
    assert first.assignment == Assignment()
    assert first.assignment is not second.assignment
