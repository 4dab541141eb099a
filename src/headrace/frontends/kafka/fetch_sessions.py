"""Fetch sessions (KIP-227): a client names its partitions once, then only what changes.

A session belongs to the listener, not to the connection: a client may go on with it after
reconnecting. Rules: id 0 with epoch -1 is no session at all, id 0 with epoch 0 asks for one, any
other epoch must be the one that comes next; an answer inside a session names only partitions that
have something new.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import (
    FetchSessionNotFound,
    FetchSessionTopicIdError,
    InvalidFetchSessionEpoch,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.codecs.kafka.generated.fetch import FetchPartition, FetchRequest
    from headrace.environment.ports import Chance

SESSIONLESS = 0
FINAL_EPOCH = -1
INITIAL_EPOCH = 0
EPOCH_MAX = 2**31 - 1
EVICTION_SECONDS = 120.0
"""A session must have been silent for so long before a newer one may take its place."""

TopicKey = str | bytes
"""A topic's name (up to version 12) or its id (from 13 on)."""


class PartitionKey(NamedTuple):
    topic: TopicKey
    partition: int


class SessionPartition:
    """What the client asked of a partition, and what it was last told about it."""

    __slots__ = ("high_watermark", "log_start_offset", "request")

    def __init__(self, request: FetchPartition) -> None:
        self.request = request
        self.high_watermark = -1
        self.log_start_offset = -1


class FetchSession:
    """One client's view."""

    __slots__ = ("epoch", "id", "last_used", "partitions", "uses_topic_ids")

    def __init__(self, session_id: int, uses_topic_ids: bool) -> None:
        self.id = session_id
        self.epoch = INITIAL_EPOCH
        self.uses_topic_ids = uses_topic_ids
        self.last_used = 0.0
        self.partitions: OrderedDict[PartitionKey, SessionPartition] = OrderedDict()

    def next_epoch(self) -> int:
        return 1 if self.epoch == EPOCH_MAX else self.epoch + 1

    def update(self, request: FetchRequest, by_id: bool) -> None:
        """Take over what this request adds, changes and forgets."""
        for topic in request.forgotten_topics_data:
            key = topic.topic_id if by_id else topic.topic
            for index in topic.partitions:
                self.partitions.pop(PartitionKey(key, index), None)
        for partition_key, wanted in requested(request, by_id):
            known = self.partitions.get(partition_key)
            if known is None:
                self.partitions[partition_key] = SessionPartition(wanted)
            else:
                known.request = wanted


def requested(request: FetchRequest, by_id: bool) -> Iterator[tuple[PartitionKey, FetchPartition]]:
    """The partitions that a request names, in its order."""
    for topic in request.topics:
        key = topic.topic_id if by_id else topic.topic
        for partition in topic.partitions:
            yield PartitionKey(key, partition.partition), partition


class FetchSessions:
    """All sessions of a listener; a bounded number of them."""

    def __init__(self, slots_max: int, chance: Chance) -> None:
        self._slots_max = slots_max
        self._chance = chance
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, request: FetchRequest, by_id: bool, now: float) -> FetchSession | None:
        """The session this request belongs to (made if asked for), or None for a plain fetch."""
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            self._sessions.pop(request.session_id, None)
            if request.session_epoch == FINAL_EPOCH or not self._make_room(now):
                return None
            session = self._create(by_id)
        else:
            session = self._existing(request, by_id)
        session.epoch = session.next_epoch()
        session.last_used = now
        self._sessions.move_to_end(session.id)
        session.update(request, by_id)
        return session

    def forget(self, session: FetchSession) -> None:
        """The client was not told of it, or does not need it any more."""
        self._sessions.pop(session.id, None)

    def _existing(self, request: FetchRequest, by_id: bool) -> FetchSession:
        session = self._sessions.get(request.session_id)
        if session is None:
            raise FetchSessionNotFound(f"there is no fetch session {request.session_id}")
        if session.uses_topic_ids != by_id:
            raise FetchSessionTopicIdError("a session uses topic names or topic ids, not both")
        if session.epoch != request.session_epoch:
            raise InvalidFetchSessionEpoch(
                f"session {session.id} expects epoch {session.epoch}, got {request.session_epoch}"
            )
        return session

    def _create(self, by_id: bool) -> FetchSession:
        session_id = SESSIONLESS
        while session_id == SESSIONLESS or session_id in self._sessions:
            session_id = int.from_bytes(self._chance.random_bytes(4), "big") & EPOCH_MAX
        session = self._sessions[session_id] = FetchSession(session_id, by_id)
        return session

    def _make_room(self, now: float) -> bool:
        if len(self._sessions) < self._slots_max:
            return True
        if not self._sessions:
            return False  # no slots at all: sessions are switched off
        oldest = next(iter(self._sessions.values()))
        if now - oldest.last_used < EVICTION_SECONDS:
            return False
        del self._sessions[oldest.id]
        return True


def keys_of(
    session: FetchSession | None, request: FetchRequest, by_id: bool
) -> Iterable[tuple[PartitionKey, FetchPartition]]:
    """Everything to read for this request: the session's partitions, or those it names itself."""
    if session is None:
        return requested(request, by_id)
    return [(key, partition.request) for key, partition in session.partitions.items()]
