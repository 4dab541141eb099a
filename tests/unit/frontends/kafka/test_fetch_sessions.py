"""KIP-227 by its rules: epochs, forgetting, eviction."""

from __future__ import annotations

import itertools

import pytest

from headrace.codecs.kafka.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from headrace.frontends.kafka.fetch_sessions import (
    EPOCH_MAX,
    EVICTION_SECONDS,
    FetchSessions,
    PartitionKey,
    keys_of,
)
from headrace.model.errors import (
    FetchSessionNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)


class CountingChance:
    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def random_bytes(self, count: int) -> bytes:
        return next(self._numbers).to_bytes(count, "big")

    def random_float(self) -> float:
        return 0.5


def request(session_id: int = 0, epoch: int = 0, offsets: dict[int, int] | None = None, **rest):
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset)
        for index, offset in (offsets or {}).items()
    ]
    topics = [FetchTopic(topic="t", partitions=partitions)] if partitions else []
    return FetchRequest(session_id=session_id, session_epoch=epoch, topics=topics, **rest)


@pytest.fixture
def sessions() -> FetchSessions:
    return FetchSessions(2, CountingChance())


def test_plain_fetch_makes_no_session(sessions):
    assert sessions.find(request(epoch=-1, offsets={0: 1}), False, 0.0) is None
    assert len(sessions) == 0


def test_session_remembers_partitions_between_requests(sessions):
    session = sessions.find(request(offsets={0: 10, 1: 20}), False, 0.0)
    again = sessions.find(request(session.id, 1, {1: 25}), False, 1.0)
    assert again is session
    wanted = {k.partition: p.fetch_offset for k, p in keys_of(session, request(), False)}
    assert wanted == {0: 10, 1: 25}


def test_forgotten_partition_is_dropped(sessions):
    session = sessions.find(request(offsets={0: 10, 1: 20}), False, 0.0)
    forget = [ForgottenTopic(topic="t", partitions=[0])]
    sessions.find(request(session.id, 1, forgotten_topics_data=forget), False, 1.0)
    assert list(session.partitions) == [PartitionKey("t", 1)]


def test_wrong_epoch_is_refused_and_changes_nothing(sessions):
    session = sessions.find(request(offsets={0: 10}), False, 0.0)
    with pytest.raises(InvalidFetchSessionEpoch):
        sessions.find(request(session.id, 2, {0: 99}), False, 0.0)
    assert session.partitions[PartitionKey("t", 0)].request.fetch_offset == 10
    assert sessions.find(request(session.id, 1), False, 0.0) is session


def test_unknown_session_is_refused(sessions):
    with pytest.raises(FetchSessionNotFound):
        sessions.find(request(77, 1), False, 0.0)


def test_session_of_names_refuses_topic_ids(sessions):
    session = sessions.find(request(offsets={0: 10}), False, 0.0)
    with pytest.raises(FetchSessionTopicIdError):
        sessions.find(request(session.id, 1), True, 0.0)


def test_session_that_nobody_was_told_of_is_forgotten(sessions):
    session = sessions.find(request(offsets={0: 1}), False, 0.0)
    sessions.forget(session)
    sessions.forget(session)
    assert len(sessions) == 0


def test_final_epoch_closes_the_session(sessions):
    session = sessions.find(request(offsets={0: 10}), False, 0.0)
    assert sessions.find(request(session.id, -1, {0: 11}), False, 0.0) is None
    with pytest.raises(FetchSessionNotFound):
        sessions.find(request(session.id, 1), False, 0.0)


def test_epoch_wraps_to_one(sessions):
    session = sessions.find(request(offsets={0: 10}), False, 0.0)
    session.epoch = EPOCH_MAX
    sessions.find(request(session.id, EPOCH_MAX), False, 0.0)
    assert session.epoch == 1


def test_full_cache_answers_without_session_until_one_is_stale(sessions):
    first = sessions.find(request(offsets={0: 1}), False, 0.0)
    sessions.find(request(offsets={0: 1}), False, 1.0)
    assert sessions.find(request(offsets={0: 1}), False, 2.0) is None
    third = sessions.find(request(offsets={0: 1}), False, EVICTION_SECONDS)
    assert third is not None
    with pytest.raises(FetchSessionNotFound):
        sessions.find(request(first.id, 1), False, EVICTION_SECONDS)
