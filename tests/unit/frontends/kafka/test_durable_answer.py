"""Answers about changes wait for the disk, and take back what it lost."""

from __future__ import annotations

from headrace.codecs.kafka.generated.create_topics import CreatableTopicResult, CreateTopicsResponse
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.testing.metadata_bench import MetadataBench

KAFKA_STORAGE_ERROR = 56


def test_answer_is_given_at_once_when_nothing_waits_for_the_disk() -> None:
    response = CreateTopicsResponse()
    assert answer_when_durable(MetadataBench().context(7), response, []) is response


def test_answer_waits_for_the_disk() -> None:
    bench = MetadataBench()
    bench.create("orders")
    response = CreateTopicsResponse()
    pending = answer_when_durable(bench.context(7), response, [])
    assert isinstance(pending, Pending)
    answers: list[object] = []
    pending.attach(answers.append)
    assert answers == []
    bench.settle()
    assert answers == [response]


def test_success_that_the_disk_lost_is_taken_back_and_errors_stay() -> None:
    bench = MetadataBench()
    bench.create("orders")
    good, bad = CreatableTopicResult("orders"), CreatableTopicResult("bad", error_code=17)
    response = CreateTopicsResponse(topics=[good, bad])
    pending = answer_when_durable(bench.context(7), response, [good, bad])
    assert isinstance(pending, Pending)
    bench.disk.fail_next("sync")
    bench.settle()
    assert pending.is_complete
    assert (good.error_code, bad.error_code) == (KAFKA_STORAGE_ERROR, 17)
