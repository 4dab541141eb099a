"""UnregisterBroker: the only broker is the one that answers, and it is kept."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.unregister_broker import UnregisterBrokerRequest
from headrace.frontends.kafka.handlers.api_64_unregister_broker import handle
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType
from headrace.testing.metadata_bench import MetadataBench

from .administrator import CLUSTER_AUTHORIZATION_FAILED, Administrator

POLICY_VIOLATION, BROKER_ID_NOT_REGISTERED = 44, 102


@pytest.mark.parametrize(
    ("broker_id", "code"), [(4, POLICY_VIOLATION), (1, BROKER_ID_NOT_REGISTERED)]
)
def test_no_broker_is_unregistered(broker_id: int, code: int) -> None:
    bench = MetadataBench({"node.id": "4"})
    before = bench.store.end_offset
    answer = Administrator(bench).ask(handle, 0, UnregisterBrokerRequest(broker_id))
    assert answer.error_code == code
    assert str(broker_id) in answer.error_message
    assert bench.store.end_offset == before


@pytest.mark.parametrize("broker_id", [1, 4])
def test_right_to_alter_the_cluster_is_needed(broker_id: int) -> None:
    admin = Administrator(MetadataBench({"node.id": "4"}), is_allowed=False)
    answer = admin.ask(handle, 0, UnregisterBrokerRequest(broker_id))
    assert answer.error_code == CLUSTER_AUTHORIZATION_FAILED
    assert admin.asked == [(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)]
