"""ListPartitionReassignments: there are none."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.codecs.kafka.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from headrace.frontends.kafka.handlers.api_46_list_partition_reassignments import handle
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType
from headrace.testing.metadata_bench import MetadataBench

from .administrator import CLUSTER_AUTHORIZATION_FAILED, Administrator


@pytest.mark.parametrize("topics", [None, [ListPartitionReassignmentsTopics("unknown", [0])]])
def test_nothing_is_being_reassigned(topics: Any) -> None:
    request = ListPartitionReassignmentsRequest(topics=topics)
    answer = Administrator(MetadataBench()).ask(handle, 0, request)
    assert (answer.error_code, answer.error_message, list(answer.topics)) == (0, None, [])


def test_right_to_describe_the_cluster_is_needed() -> None:
    admin = Administrator(MetadataBench(), is_allowed=False)
    answer = admin.ask(handle, 0, ListPartitionReassignmentsRequest())
    assert answer.error_code == CLUSTER_AUTHORIZATION_FAILED
    assert admin.asked == [(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)]
