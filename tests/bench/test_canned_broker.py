"""The broker that does nothing: enough for a transactional producer, and for nobody else."""

from __future__ import annotations

import pytest

from bench.load.canned_broker import CannedBroker, canned_broker
from bench.load.frames import request_frame
from bench.load.transactions import light_transactions
from headrace.codecs.kafka.generated.list_groups import ListGroupsRequest
from headrace.codecs.kafka.generated.metadata import MetadataRequest
from headrace.codecs.kafka.messages import response_decoder

METADATA, LIST_GROUPS = 3, 16


def test_producers_of_the_second_generation_commit_one_transaction_after_the_other():
    load = {"partitions": 2, "producers": 3, "records": 4, "size": 10, "generation": 2}
    with canned_broker("tin", partitions=2) as address:
        figures = light_transactions(
            address, topic="tin", label="canned", warm_seconds=0.05, seconds=0.2, **load
        )
    assert figures["rate"] > 0
    assert figures["retries"] == 0


def test_clients_are_told_of_the_one_topic_and_where_it_is():
    broker = CannedBroker("tin", partitions=3)
    broker.port = 4_711
    body = broker.body(request_frame(METADATA, 12, MetadataRequest()))
    answer, _ = response_decoder(METADATA, 12)(body, 0)
    assert [(each.host, each.port) for each in answer.brokers] == [("127.0.0.1", 4_711)]
    assert [(topic.name, len(topic.partitions)) for topic in answer.topics] == [("tin", 3)]


def test_other_requests_are_not_answered():
    with pytest.raises(KeyError):
        CannedBroker("tin", 1).body(request_frame(LIST_GROUPS, 4, ListGroupsRequest()))
