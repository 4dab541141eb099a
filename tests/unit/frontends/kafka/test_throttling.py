"""The answer tells the time to wait and leaves at once; then the connection is muted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.broker.quotas import QuotaAlteration
from headrace.codecs.kafka.generated.heartbeat import HeartbeatResponse
from headrace.codecs.kafka.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from headrace.codecs.kafka.messages import response_decoder
from headrace.codecs.kafka.produce_success import encode_produce_success
from headrace.coordination.metadata.quotas import QuotaChange
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.throttling import metered, note_time, timed_turns
from headrace.quotas.entities import QuotaEntity
from headrace.testing.metadata_bench import MetadataBench

if TYPE_CHECKING:
    from collections.abc import Generator

PRODUCE, HEARTBEAT, SASL_HANDSHAKE = 0, 12, 17
ANONYMOUS = QuotaEntity(user="ANONYMOUS")
KIBIBYTE = ProduceRequest(
    acks=-1,
    topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, b"x" * 1024)])],
)


class Connection:
    """Calls handlers as a session does, and remembers for how long it was muted."""

    def __init__(self, **quotas: float) -> None:
        self.bench = MetadataBench()
        self.muted_ms: list[int] = []
        changes = [QuotaChange(name, value) for name, value in quotas.items()]
        assert self.bench.quotas.alter([QuotaAlteration(ANONYMOUS, changes)]) == [None]

    def call(self, api_key: int, request: Any, answer: Any) -> Any:
        context = self.bench.context(9)
        context.api_key = api_key
        context.session.mute = self.muted_ms.append
        return metered(api_key, lambda request, context: answer)(request, context)


def test_without_quotas_the_answer_is_the_handlers():
    connection, answer = Connection(), HeartbeatResponse()
    assert connection.call(HEARTBEAT, None, answer) is answer
    assert connection.muted_ms == []


def test_without_quotas_nothing_but_the_flag_is_looked_at():
    context = SimpleNamespace(broker=SimpleNamespace(quotas=SimpleNamespace(is_active=False)))
    assert metered(HEARTBEAT, lambda request, context: request)("asked", context) == "asked"


def test_within_the_quota_the_answer_is_the_handlers():
    connection, answer = Connection(producer_byte_rate=10_000), ProduceResponse()
    assert connection.call(PRODUCE, KIBIBYTE, answer) is answer
    assert connection.muted_ms == []


def test_the_time_is_told_and_the_connection_muted():
    connection, answer = Connection(producer_byte_rate=64), ProduceResponse()
    told = connection.call(PRODUCE, KIBIBYTE, answer)
    assert told.throttle_time_ms == 6_000
    assert answer.throttle_time_ms == 0, "the answer may be shared"
    assert connection.muted_ms == [6_000]


@pytest.mark.parametrize("version", [9, 13])
def test_an_answer_that_is_encoded_already_tells_the_time(version: int):
    encoded = encode_produce_success(version, "t", bytes(16), 0, 7, -1, 0)
    told = Connection(producer_byte_rate=64).call(PRODUCE, KIBIBYTE, encoded)
    response, _ = response_decoder(PRODUCE, version)(told, 0)
    assert response.throttle_time_ms == 6_000
    assert response.responses[0].partition_responses[0].base_offset == 7


def test_an_answer_that_comes_later_tells_the_time_and_is_muted_then():
    connection, pending = Connection(producer_byte_rate=64), Pending()
    outer = connection.call(PRODUCE, KIBIBYTE, pending)
    answers: list[Any] = []
    outer.attach(answers.append)
    assert (answers, connection.muted_ms) == ([], [])
    pending.complete(ProduceResponse())
    assert [answer.throttle_time_ms for answer in answers] == [6_000]
    assert connection.muted_ms == [6_000]


def test_whoever_hangs_up_is_forgotten_by_the_one_who_would_answer():
    closed: list[bool] = []
    pending = Pending(on_close=lambda: closed.append(True))
    connection = Connection(producer_byte_rate=64)
    connection.call(PRODUCE, KIBIBYTE, pending).connection_closed()
    assert closed == [True]


def test_a_producer_that_wants_no_answer_is_muted_all_the_same():
    connection = Connection(producer_byte_rate=64, request_percentage=1e-9)
    request = ProduceRequest(acks=0, topic_data=KIBIBYTE.topic_data)
    assert connection.call(PRODUCE, request, None) is None
    assert connection.muted_ms == [6_000]


def test_the_time_of_a_producer_that_wants_no_answer_is_not_counted():
    connection = Connection(request_percentage=1e-9)
    request = ProduceRequest(acks=0, topic_data=KIBIBYTE.topic_data)
    assert connection.call(PRODUCE, request, None) is None
    assert connection.muted_ms == []


def test_request_time_counts_for_every_kind_of_request():
    connection = Connection(request_percentage=1e-9)
    assert connection.call(HEARTBEAT, None, HeartbeatResponse()).throttle_time_ms == 1_000
    assert connection.muted_ms == [1_000]


def test_a_longer_time_of_the_handler_is_kept():
    connection = Connection(request_percentage=1e-9)
    answer = HeartbeatResponse(throttle_time_ms=5_000)
    assert connection.call(HEARTBEAT, None, answer) is answer
    assert connection.muted_ms == [5_000]


def test_who_does_not_yet_say_who_it_is_is_not_counted():
    connection = Connection(request_percentage=1e-9)
    assert connection.call(SASL_HANDSHAKE, None, "answer") == "answer"
    assert connection.muted_ms == []


def test_later_turns_of_a_long_request_are_paid_for_by_the_next():
    connection = Connection(request_percentage=1e-9)
    context = connection.bench.context(9)

    def work() -> Generator[None, None, str]:
        yield
        yield
        return "answer"

    turns = timed_turns(work(), context)
    next(turns)
    assert connection.bench.quotas._rates["request_percentage"].of(ANONYMOUS, 0).total(0) == 0
    next(turns)
    with pytest.raises(StopIteration) as end:
        next(turns)
    assert end.value.value == "answer"
    assert connection.bench.quotas._rates["request_percentage"].of(ANONYMOUS, 0).total(0) > 0


def test_turns_are_not_measured_without_quotas():
    context = MetadataBench().context(9)
    work = (None for _ in range(2))
    assert timed_turns(work, context) is work
    note_time(0.0, context)
