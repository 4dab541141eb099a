"""Fetch: limits, waiting, sessions, epochs."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from headrace.codecs.kafka.generated.fetch import ForgottenTopic
from headrace.records.header import batches
from tests.wire.calls import FETCH, batch, by_partition, fetch, fetch_request, produce
from tests.wire.raw_client import RawClient

OUT_OF_RANGE, UNKNOWN_TOPIC, SESSION_NOT_FOUND, BAD_SESSION_EPOCH = 1, 3, 70, 71
FENCED_EPOCH, UNKNOWN_EPOCH, STORAGE_ERROR = 74, 75, 56


def base_offsets(records) -> list[int]:
    return [header.base_offset for _, header in batches(bytes(records or b""))]


@pytest.fixture
def ten_batches(client, headrace_topic) -> str:
    """Ten batches of two records of a thousand bytes each."""
    for _ in range(10):
        produce(client, headrace_topic, {0: batch(b"x" * 1000, b"y" * 1000)})
    return headrace_topic


def test_offset_inside_a_batch_returns_the_whole_batch(client, ten_batches):
    assert base_offsets(fetch(client, ten_batches, {0: 5})[0].records)[0] == 4


def test_limit_is_kept_but_the_first_batch_comes_whole(client, ten_batches):
    one = fetch(client, ten_batches, {0: 0}, partition_max_bytes=10)[0]
    assert base_offsets(one.records) == [0]
    few = fetch(client, ten_batches, {0: 0}, max_bytes=5_000)[0]
    assert base_offsets(few.records)[:2] == [0, 2]
    assert len(few.records) <= 5_000


def test_offset_outside_is_out_of_range_and_the_end_is_empty(client, ten_batches):
    assert fetch(client, ten_batches, {0: 21})[0].error_code == OUT_OF_RANGE
    assert fetch(client, ten_batches, {0: -1})[0].error_code == OUT_OF_RANGE
    end = fetch(client, ten_batches, {0: 20})[0]
    assert (end.error_code, bytes(end.records), end.high_watermark) == (0, b"", 20)


def test_unknown_partition_is_answered_at_once_beside_a_good_one(client, ten_batches):
    started = time.monotonic()
    answer = fetch(client, ten_batches, {0: 20, 5: 0}, max_wait_ms=5_000)
    assert answer[5].error_code == UNKNOWN_TOPIC
    assert time.monotonic() - started < 4


def test_parked_fetch_is_woken_by_an_append(client, headrace_broker, headrace_topic):
    client.send(FETCH, 12, fetch_request(headrace_topic, {0: 0}, max_wait_ms=20_000))

    def append() -> None:
        with RawClient(headrace_broker.port) as other:
            produce(other, headrace_topic, {0: batch(b"wake")})

    thread = threading.Thread(target=append)
    started = time.monotonic()
    thread.start()
    answer = by_partition(client.receive(FETCH, 12)[1])[0]
    thread.join()
    assert base_offsets(answer.records) == [0]
    assert time.monotonic() - started < 10


def test_fetch_waits_for_min_bytes_over_several_appends(client, headrace_broker, headrace_topic):
    size = len(batch(b"x" * 1000))
    request = fetch_request(headrace_topic, {0: 0}, max_wait_ms=20_000, min_bytes=3 * size)
    client.send(FETCH, 12, request)
    with RawClient(headrace_broker.port) as other:
        for _ in range(3):
            produce(other, headrace_topic, {0: batch(b"x" * 1000)})
    answer = by_partition(client.receive(FETCH, 12)[1])[0]
    assert base_offsets(answer.records) == [0, 1, 2]


def test_fetch_returns_what_there_is_when_the_time_is_over(client, headrace_topic):
    produce(client, headrace_topic, {0: batch(b"little")})
    started = time.monotonic()
    answer = fetch(client, headrace_topic, {0: 0}, max_wait_ms=200, min_bytes=1_000_000)[0]
    assert time.monotonic() - started >= 0.19
    assert base_offsets(answer.records) == [0]


def test_connection_that_ends_leaves_no_parked_fetch(headrace_broker, headrace_topic):
    with RawClient(headrace_broker.port) as client:
        client.send(FETCH, 12, fetch_request(headrace_topic, {0: 0}, max_wait_ms=60_000))
        wait_for(lambda: parked(headrace_broker) == 1)
    wait_for(lambda: parked(headrace_broker) == 0)


def parked(broker) -> int:
    return broker.call(lambda server: server.broker.fetching.waiting.parked)


def owed(broker) -> int:
    """Most answers that a connection still waits for."""
    return broker.call(
        lambda server: max(
            len(session._slots) for _, door in server._listeners for session in door.sessions
        )
    )


def wait_for(condition, seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.005)


def test_deleted_topic_answers_its_parked_fetch(client, headrace_broker):
    topic = headrace_broker.create_topic("soon-gone")
    client.send(FETCH, 12, fetch_request(topic, {0: 0}, max_wait_ms=20_000))
    wait_for(lambda: parked(headrace_broker) == 1)
    started = time.monotonic()
    headrace_broker.call(lambda server: server.broker.topic_changes.delete(topic))
    client.receive(FETCH, 12)
    assert time.monotonic() - started < 10


def test_session_names_only_what_changed(client, headrace_broker):
    topic = headrace_broker.create_topic("sessions", 3)
    first = client.call(FETCH, 12, fetch_request(topic, {0: 0, 1: 0, 2: 0}, session_epoch=0))
    assert first.session_id > 0
    assert sorted(by_partition(first)) == [0, 1, 2]
    session = {"session_id": first.session_id}
    assert (
        by_partition(client.call(FETCH, 12, fetch_request(topic, {}, session_epoch=1, **session)))
        == {}
    )
    produce(client, topic, {1: batch(b"news")})
    third = client.call(FETCH, 12, fetch_request(topic, {}, session_epoch=2, **session))
    assert sorted(by_partition(third)) == [1]
    forget = [ForgottenTopic(topic=topic, partitions=[1])]
    fourth = client.call(
        FETCH,
        12,
        fetch_request(topic, {}, session_epoch=3, forgotten_topics_data=forget, **session),
    )
    assert by_partition(fourth) == {}


def test_wrong_session_is_a_named_error(client, headrace_topic):
    unknown = client.call(
        FETCH, 12, fetch_request(headrace_topic, {}, session_id=9, session_epoch=1)
    )
    assert unknown.error_code == SESSION_NOT_FOUND
    made = client.call(FETCH, 12, fetch_request(headrace_topic, {0: 0}, session_epoch=0))
    wrong = fetch_request(headrace_topic, {}, session_id=made.session_id, session_epoch=5)
    assert client.call(FETCH, 12, wrong).error_code == BAD_SESSION_EPOCH


def test_leader_epoch_of_the_caller_is_checked(client, headrace_topic):
    ours = fetch(client, headrace_topic, {0: 0}, leader_epoch=0)[0]
    assert ours.error_code == 0
    assert fetch(client, headrace_topic, {0: 0}, leader_epoch=7)[0].error_code == UNKNOWN_EPOCH


def test_large_answer_is_complete_and_in_order(client, headrace_topic):
    for _ in range(40):
        produce(client, headrace_topic, {0: batch(b"z" * 500_000)})
    seen: list[int] = []
    while len(seen) < 40:
        records = fetch(client, headrace_topic, {0: len(seen)}, partition_max_bytes=30_000_000)[
            0
        ].records
        data = bytes(records)
        for position, header in batches(data):
            if position + header.size_bytes <= len(data):
                seen.append(header.base_offset)
    assert seen == list(range(40))


def test_answer_that_waits_its_turn_survives_the_deletion_of_its_topic(client, headrace_broker):
    """The second fetch is answered behind the first, which is parked; meanwhile its topic goes."""
    waits = headrace_broker.create_topic("waits")
    goes = headrace_broker.create_topic("goes")
    value = b"v" * 100_000
    produce(client, goes, {0: batch(value)})
    client.send(FETCH, 12, fetch_request(waits, {0: 0}, max_wait_ms=20_000))
    client.send(FETCH, 12, fetch_request(goes, {0: 0}))
    wait_for(lambda: owed(headrace_broker) == 2)
    headrace_broker.call(lambda server: server.broker.topic_changes.delete(goes))
    headrace_broker.create_topic("goes")
    with RawClient(headrace_broker.port) as other:
        produce(other, waits, {0: batch(b"wake")})
    client.receive(FETCH, 12)
    answer = by_partition(client.receive(FETCH, 12)[1])[0]
    assert value in bytes(answer.records)


def test_partition_whose_file_is_gone_fails_alone(client, headrace_broker):
    topic = headrace_broker.create_topic("half-gone", 2)
    produce(client, topic, {0: batch(b"gone"), 1: batch(b"stays")})
    (Path(headrace_broker.directory) / f"{topic}-0" / f"{0:020d}.log").unlink()
    headrace_broker.call(
        lambda server: server.broker.topics.partition(topic, 0).log.active.handle.close()
    )
    answer = fetch(client, topic, {0: 0, 1: 0})
    assert answer[0].error_code == STORAGE_ERROR
    assert b"stays" in bytes(answer[1].records)
    headrace_broker.call(lambda server: server.broker.topic_changes.delete(topic))
