"""DescribeCluster: one broker, which is also what others call the controller."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.describe_cluster import DescribeClusterRequest
from headrace.frontends.kafka.handlers.api_60_describe_cluster import handle
from headrace.testing.metadata_bench import MetadataBench


def test_cluster_is_this_node() -> None:
    bench = MetadataBench({"broker.rack": "r1", "node.id": "4"})
    answer = handle(DescribeClusterRequest(), bench.context(2))
    assert (answer.error_code, answer.controller_id) == (0, 4)
    assert answer.cluster_id == bench.store.cluster.cluster_id
    (broker,) = answer.brokers
    assert (broker.broker_id, broker.host, broker.port) == (4, "broker.example", 9092)
    assert (broker.rack, broker.is_fenced) == ("r1", False)
    assert answer.cluster_authorized_operations == -2147483648


def test_operations_are_told_when_asked() -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert handle(request, MetadataBench().context(0)).cluster_authorized_operations > 0


@pytest.mark.parametrize(("endpoint_type", "code"), [(2, 114), (3, 115)])
def test_other_endpoints_are_refused(endpoint_type: int, code: int) -> None:
    answer = handle(DescribeClusterRequest(endpoint_type=endpoint_type), MetadataBench().context(1))
    assert (answer.error_code, list(answer.brokers)) == (code, [])
    assert answer.error_message
