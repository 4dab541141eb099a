"""Produce (key 0), versions 3-13; 0-2 are advertised only (KAFKA-18659).

v3 record batches (magic 2) · v5 log start offset · v7 zstd · v8 errors by record · v9 flexible ·
v10 current leader on NOT_LEADER · v12 implicit transactions · v13 topic ids instead of names.

The topics of the coordinators take no records of clients, except from one that calls itself as
Kafka's own tools do.

Errors are per partition: one broken batch fails alone. acks=0 gets no answer at all; if anything
fails then, the connection is closed, which is the only way left to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka import produce_success
from headrace.codecs.kafka.generated.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.frontends.kafka.authorization import maybe_refusal, maybe_topic_refusal
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.frontends.kafka.throttling import timed_turns
from headrace.frontends.kafka.transactional_produce import enlist, raise_if_not_enlisted
from headrace.model.errors import (
    HeadraceError,
    InvalidRecord,
    InvalidRequiredAcks,
    InvalidTopicName,
    StorageFailure,
    UnknownTopicId,
    UnknownTopicOrPartition,
    UnsupportedCompression,
)
from headrace.records.compression import Compression
from headrace.records.header import COMPRESSION_MASK, TRANSACTIONAL
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Generator

    from headrace.broker.topics import Partition
    from headrace.codecs.kafka.generated.produce import (
        PartitionProduceData,
        ProduceRequest,
        TopicProduceData,
    )
    from headrace.frontends.kafka.context import RequestContext
    from headrace.storage.log_port import Appended

API_KEY = 0
VERSIONS = (3, 13)

TOPIC_IDS_FROM = 13
ZSTD_FROM = 7
ACKS_NONE, ACKS_LEADER, ACKS_ALL = 0, 1, -1
_ACKS = frozenset({ACKS_NONE, ACKS_LEADER, ACKS_ALL})
_ATTRIBUTES_LOW_BYTE = 22
ADMIN_CLIENT_ID = "__admin_client"
"""Under this name Kafka lets records into the topics of the coordinators, to mend them by hand. It
is no right: an ACL on the topic still is."""
TURN_BYTES = 1024 * 1024
"""Records that are written before the other connections are looked at again."""


def handle(
    request: ProduceRequest, context: RequestContext
) -> ProduceResponse | bytes | Pending | None:
    acks = request.acks
    if acks not in _ACKS:
        return _refused(request, InvalidRequiredAcks(f"acks={acks}: expected -1, 0 or 1"))
    if request.transactional_id is not None:
        refusal = maybe_refusal(
            context, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, request.transactional_id
        )
        if refusal is not None:
            return _refused(request, refusal)
    topics = request.topic_data
    if (
        len(topics) == 1
        and len(topics[0].partition_data) == 1
        and acks != ACKS_NONE
        and context.version >= produce_success.VERSION_MIN
    ):
        return _single(request, topics[0], topics[0].partition_data[0], context)
    return context.session.in_turns(timed_turns(_several(request, context), context), context)


def _single(
    request: ProduceRequest,
    topic: TopicProduceData,
    data: PartitionProduceData,
    context: RequestContext,
) -> ProduceResponse | bytes | Pending:
    """What nearly every request is: one batch, to be answered in one of the newer versions."""
    try:
        partitions = _look_up(topic, context)
        if partitions is None:
            raise _not_found(topic, context)
        appended = _append(request, partitions, data, context)
    except HeadraceError as error:
        failed = _failed(data.index, error)
        return ProduceResponse([TopicProduceResponse(topic.name, topic.topic_id, [failed])])
    answer = produce_success.encode_produce_success(
        context.version,
        topic.name,
        topic.topic_id,
        data.index,
        appended.base_offset,
        appended.log_append_time_ms,
        appended.log_start_offset,
    )
    if not appended.commit_number:
        return answer
    pending = Pending()

    def synced(failure: BaseException | None) -> None:
        if failure is None:
            pending.complete(answer)
        else:
            failed = _failed(data.index, StorageFailure(str(failure)))
            pending.complete(
                ProduceResponse([TopicProduceResponse(topic.name, topic.topic_id, [failed])])
            )

    context.broker.producing.when_durable(appended.commit_number, synced)
    return pending


def _several(
    request: ProduceRequest, context: RequestContext
) -> Generator[None, None, ProduceResponse | Pending | None]:
    """Batch after batch. A request may bring a hundred megabytes: others get their turn between."""
    acks = request.acks
    commit_number = turn_bytes = 0
    topics = []
    for topic in request.topic_data:
        partitions = _look_up(topic, context)
        if partitions is not None and request.transactional_id is not None:
            # All together, which is one record. Each is asked for again when it is written.
            enlist(request.transactional_id, partitions, topic.partition_data, context)
        responses = []
        for data in topic.partition_data:
            turn_bytes += len(data.records or b"")
            if turn_bytes > TURN_BYTES:
                turn_bytes = 0
                yield
            try:
                if partitions is None:
                    raise _not_found(topic, context)
                appended = _append(request, partitions, data, context)
            except HeadraceError as error:
                responses.append(_failed(data.index, error))
                continue
            if appended.commit_number > commit_number:
                commit_number = appended.commit_number
            responses.append(_stored(data.index, appended))
        topics.append(TopicProduceResponse(topic.name, topic.topic_id, responses))
    if acks == ACKS_NONE:
        _cut_off_if_failed(topics, context)
        return None
    if commit_number:
        return _when_durable(commit_number, ProduceResponse(topics), context)
    return ProduceResponse(topics)


def _look_up(topic: TopicProduceData, context: RequestContext) -> list[Partition] | None:
    broker = context.broker
    if broker.access is not None and _maybe_refusal(topic, context) is not None:
        return None
    if context.version < TOPIC_IDS_FROM:
        return broker.topics.partitions(topic.name)
    found = broker.topics.by_id(topic.topic_id)
    return None if found is None else found.partitions


def _maybe_refusal(topic: TopicProduceData, context: RequestContext) -> HeadraceError | None:
    name = topic.name
    if context.version >= TOPIC_IDS_FROM:
        found = context.broker.topics.by_id(topic.topic_id)
        if found is None:
            return None
        name = found.name
    return maybe_topic_refusal(context, Operation.WRITE, name)


def _not_found(topic: TopicProduceData, context: RequestContext) -> HeadraceError:
    refusal = _maybe_refusal(topic, context)
    if refusal is not None:
        return refusal
    if context.version < TOPIC_IDS_FROM:
        return UnknownTopicOrPartition(f"there is no topic {topic.name!r}")
    return UnknownTopicId(f"there is no topic with id {topic.topic_id.hex()}")


def _append(
    request: ProduceRequest,
    partitions: list[Partition],
    data: PartitionProduceData,
    context: RequestContext,
) -> Appended:
    if partitions[0].is_internal and context.client_id != ADMIN_CLIENT_ID:
        raise InvalidTopicName(f"{partitions[0].topic} is written by the coordinators alone")
    batch = data.records
    if batch is None or len(batch) == 0:
        raise InvalidRecord("a partition came without a record batch")
    if len(batch) > _ATTRIBUTES_LOW_BYTE:
        attributes = batch[_ATTRIBUTES_LOW_BYTE]
        if context.version < ZSTD_FROM and attributes & COMPRESSION_MASK == Compression.ZSTD:
            raise UnsupportedCompression(f"zstd needs version {ZSTD_FROM}, not {context.version}")
        if attributes & TRANSACTIONAL:
            raise_if_not_enlisted(request.transactional_id, partitions, data, context)
    return context.broker.producing.append(partitions, data.index, batch, request.acks == ACKS_ALL)


def _stored(index: int, appended: Appended) -> PartitionProduceResponse:
    return PartitionProduceResponse(
        index, 0, appended.base_offset, appended.log_append_time_ms, appended.log_start_offset
    )


def _failed(index: int, error: HeadraceError) -> PartitionProduceResponse:
    record_errors = [
        BatchIndexAndErrorMessage(record, message)
        for record, message in getattr(error, "record_errors", ())
    ]
    return PartitionProduceResponse(
        index, error_code(error), -1, -1, -1, record_errors, error_message(error)
    )


def _refused(request: ProduceRequest, error: HeadraceError) -> ProduceResponse:
    code = error_code(error)
    return ProduceResponse(
        [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [
                    PartitionProduceResponse(data.index, code, -1, error_message=error.message)
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _cut_off_if_failed(topics: list[TopicProduceResponse], context: RequestContext) -> None:
    for topic in topics:
        for response in topic.partition_responses:
            if response.error_code:
                context.session.cut_off(
                    "failed-silently",
                    f"produce with acks=0 failed: error {response.error_code}, "
                    f"{response.error_message}",
                )
                return


def _when_durable(
    commit_number: int, response: ProduceResponse, context: RequestContext
) -> Pending:
    pending = Pending()

    def synced(failure: BaseException | None) -> None:
        if failure is not None:
            code = error_code(StorageFailure(str(failure)))
            for topic in response.responses:
                for partition in topic.partition_responses:
                    partition.error_code = partition.error_code or code
        pending.complete(response)

    context.broker.producing.when_durable(commit_number, synced)
    return pending
