"""Fetch (key 1), versions 4-18.

v4 isolation level · v5 log start offset · v7 fetch sessions · v9 leader epoch · v10 zstd ·
v11 rack · v12 flexible, divergence · v13 topic ids instead of names · v15 replica state ·
v16 leader hints · v17 directory id · v18 the follower's high watermark.

The answer's records are slices of files: they are sent without being read.
Who may not read a topic is refused by each fetch anew, also inside a session and after a wait.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from headrace.broker.fetch import Fetched, FetchResult, Limits, Target
from headrace.codecs.kafka.generated.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from headrace.frontends.kafka.authorization import maybe_topic_refusal
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import error_code
from headrace.frontends.kafka.fetch_sessions import (
    INITIAL_EPOCH,
    SESSIONLESS,
    PartitionKey,
    keys_of,
)
from headrace.frontends.kafka.throttling import count_fetched, fetch_bytes_max, note_time
from headrace.model.errors import (
    HeadraceError,
    UnknownTopicId,
    UnknownTopicOrPartition,
    UnsupportedCompression,
)
from headrace.records.compression import Compression
from headrace.records.header import batches
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.broker.topics import Partition
    from headrace.codecs.kafka.generated.fetch import FetchPartition, FetchRequest
    from headrace.frontends.kafka.context import RequestContext
    from headrace.frontends.kafka.fetch_sessions import FetchSession, TopicKey

API_KEY = 1
VERSIONS = (4, 18)

SESSIONS_FROM = 7
ZSTD_FROM = 10
TOPIC_IDS_FROM = 13
READ_COMMITTED = 1
_UNKNOWN_PARTITION = UnknownTopicOrPartition("there is no such partition")
_UNKNOWN_ID = UnknownTopicId("there is no topic with this id")


def handle(request: FetchRequest, context: RequestContext) -> FetchResponse | Pending:
    broker = context.broker
    by_id = context.version >= TOPIC_IDS_FROM
    session: FetchSession | None = None
    if context.version >= SESSIONS_FROM:
        try:
            now = broker.clock.monotonic()
            session = context.session.fetch_sessions.find(request, by_id, now)
        except HeadraceError as error:
            return FetchResponse(error_code=error_code(error))
    keys: list[PartitionKey] = []
    targets: list[Target] = []
    for key, wanted in keys_of(session, request, by_id):
        keys.append(key)
        targets.append(_target(key, wanted, by_id, context))
    if broker.access is not None:
        targets = _permitted(keys, targets, context)
    max_bytes = fetch_bytes_max(min(request.max_bytes, broker.config.fetch_max_bytes), context)
    limits = Limits(
        max_bytes,
        min(request.min_bytes, max_bytes),
        request.max_wait_ms,
        request.isolation_level == READ_COMMITTED,
    )
    answer = _Answer(keys, targets, session, request, context)
    outcome = broker.fetching.fetch(targets, limits, answer.complete)
    if isinstance(outcome, FetchResult):
        return answer.build(outcome)
    answer.pending = Pending(on_close=outcome.cancel)
    return answer.pending


def _target(
    key: PartitionKey, wanted: FetchPartition, by_id: bool, context: RequestContext
) -> Target:
    partitions: list[Partition] | None
    if by_id:
        topic = context.broker.topics.by_id(key.topic)  # type: ignore[arg-type]
        partitions = None if topic is None else topic.partitions
    else:
        partitions = context.broker.topics.partitions(key.topic)  # type: ignore[arg-type]
    error: HeadraceError | None = None
    partition: Partition | None = None
    if partitions is None:
        error = _UNKNOWN_ID if by_id else _UNKNOWN_PARTITION
    elif not 0 <= key.partition < len(partitions):
        error = _UNKNOWN_PARTITION
    else:
        partition = partitions[key.partition]
    return Target(
        partition,
        wanted.fetch_offset,
        wanted.partition_max_bytes,
        wanted.current_leader_epoch,
        wanted.last_fetched_epoch,
        error,
    )


def _permitted(
    keys: list[PartitionKey], targets: list[Target], context: RequestContext
) -> list[Target]:
    """The targets, those that may not be read replaced by what refuses them."""
    refusals: dict[TopicKey, HeadraceError | None] = {}
    permitted = []
    for key, target in zip(keys, targets, strict=True):
        if key.topic not in refusals:
            refusals[key.topic] = _maybe_refusal(key.topic, context)
        refusal = refusals[key.topic]
        permitted.append(
            target if refusal is None else target._replace(partition=None, error=refusal)
        )
    return permitted


def _maybe_refusal(topic: TopicKey, context: RequestContext) -> HeadraceError | None:
    if isinstance(topic, bytes):
        found = context.broker.topics.by_id(topic)
        return None if found is None else maybe_topic_refusal(context, Operation.READ, found.name)
    return maybe_topic_refusal(context, Operation.READ, topic)


class _Answer:
    """Turns what was read into the answer, now or after a wait."""

    __slots__ = ("_context", "_keys", "_request", "_session", "_targets", "pending")

    def __init__(
        self,
        keys: list[PartitionKey],
        targets: list[Target],
        session: FetchSession | None,
        request: FetchRequest,
        context: RequestContext,
    ) -> None:
        self._keys = keys
        self._targets = targets
        self._session = session
        self._request = request
        self._context = context
        self.pending: Pending | None = None

    def complete(self, result: FetchResult) -> None:
        assert self.pending is not None
        started = perf_counter()
        if self._context.broker.access is not None:
            result = self._without_revoked(result)
        self.pending.complete(self.build(result))
        note_time(started, self._context)

    def _without_revoked(self, result: FetchResult) -> FetchResult:
        """The right to read may be gone since the fetch was parked: then its records stay here."""
        targets = _permitted(self._keys, self._targets, self._context)
        partitions = [
            fetched if target.error is None else Fetched(target.error)
            for target, fetched in zip(targets, result.partitions, strict=True)
        ]
        return result._replace(partitions=partitions)

    def build(self, result: FetchResult) -> FetchResponse:
        throttle_ms, is_withheld = count_fetched(result, self._context)
        if is_withheld:
            return self._withheld(throttle_ms)
        by_id = self._context.version >= TOPIC_IDS_FROM
        is_full = self._session is None or self._request.session_epoch == 0
        topics: list[FetchableTopicResponse] = []
        current: list[PartitionData] = []
        previous: object = None
        for key, target, fetched in zip(self._keys, self._targets, result.partitions, strict=True):
            if self._session is not None and not self._is_news(key, fetched) and not is_full:
                continue
            if key.topic != previous or not topics:
                previous = key.topic
                current = []
                topics.append(
                    FetchableTopicResponse(
                        "" if by_id else key.topic,  # type: ignore[arg-type]
                        key.topic if by_id else bytes(16),  # type: ignore[arg-type]
                        current,
                    )
                )
            current.append(self._partition(key, target, fetched))
        session_id = SESSIONLESS if self._session is None else self._session.id
        return FetchResponse(throttle_ms, 0, session_id, topics)

    def _withheld(self, throttle_ms: int) -> FetchResponse:
        """The client shall ask again after its wait (KIP-219), and then begin its session anew."""
        session = self._session
        if session is not None and self._request.session_epoch == INITIAL_EPOCH:
            self._context.session.fetch_sessions.forget(session)
            session = None
        session_id = SESSIONLESS if session is None else session.id
        return FetchResponse(throttle_ms, 0, session_id, [])

    def _is_news(self, key: PartitionKey, fetched: Fetched) -> bool:
        """Whether an incremental answer must name this partition; remembers what it is told."""
        assert self._session is not None
        known = self._session.partitions.get(key)
        if known is None:
            return True  # forgotten while the fetch was parked: the answer is owed all the same
        changed = (
            fetched.error is not None
            or fetched.records is not None
            or fetched.diverging is not None
            or known.high_watermark != fetched.high_watermark
            or known.log_start_offset != fetched.log_start_offset
        )
        if fetched.error is None:
            known.high_watermark = fetched.high_watermark
            known.log_start_offset = fetched.log_start_offset
        else:
            known.high_watermark = -1  # so that the next success counts as news
        if fetched.records is not None:
            # Those that were served go to the end, so that the others get their turn (KIP-227).
            self._session.partitions.move_to_end(key)
        return changed

    def _partition(self, key: PartitionKey, target: Target, fetched: Fetched) -> PartitionData:
        if fetched.error is not None:
            return PartitionData(
                key.partition, error_code(fetched.error), -1, aborted_transactions=None, records=b""
            )
        records = fetched.records
        if records is not None and self._context.version < ZSTD_FROM:
            data = records.read()
            if any(header.compression == Compression.ZSTD for _, header in batches(data)):
                code = error_code(UnsupportedCompression())
                return PartitionData(
                    key.partition, code, -1, aborted_transactions=None, records=b""
                )
        if records is not None and target.partition is not None:
            self._context.broker.metrics.count_fetched(target.partition.topic, len(records))
        diverging = fetched.diverging
        return PartitionData(
            key.partition,
            0,
            fetched.high_watermark,
            fetched.last_stable_offset,
            fetched.log_start_offset,
            None if diverging is None else EpochEndOffset(*diverging),
            None,
            None,
            None
            if fetched.aborted is None
            else [AbortedTransaction(*entry) for entry in fetched.aborted],
            -1,
            b"" if records is None else records,
        )
