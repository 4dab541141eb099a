"""OffsetFetch (key 9), versions 1-10.

v2 null for all partitions, a top-level error · v3 throttle time · v5 leader epoch · v6 flexible ·
v7 only stable offsets on request · v8 several groups · v9 member id and epoch (KIP-848) ·
v10 topics by id.

A partition without an offset is answered with -1 and no error. Versions before 8 have other
classes for the same thing.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.codecs.kafka.generated.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from headrace.coordination.groups.commands import FetchedOffset, FetchOffsets
from headrace.coordination.groups.offset_commands import NO_OFFSET, UNKNOWN_LEADER_EPOCH
from headrace.frontends.kafka.authorization import (
    maybe_group_refusal,
    maybe_topic_refusal,
    raise_if_topic_refused,
)
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask, ask_each
from headrace.model.errors import (
    HeadraceError,
    TopicAuthorizationFailed,
    UnknownTopicId,
    UnstableOffset,
)
from headrace.model.topic import NO_TOPIC_ID, TopicPartition
from headrace.security.acl import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.codecs.kafka.generated.offset_fetch import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopics,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 9
VERSIONS = (1, 10)

TOP_LEVEL_ERROR_FROM = 2
SEVERAL_GROUPS_FROM = 8
TOPIC_IDS_FROM = 10


def handle(request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse | Pending:
    if context.version < SEVERAL_GROUPS_FROM:
        return _one_group(request, context)
    by_id = context.version >= TOPIC_IDS_FROM
    wishes = [
        _wish(group, context, request.require_stable, by_id=by_id) for group in request.groups
    ]

    def render(replies: Sequence[Any]) -> OffsetFetchResponse:
        pairs = zip(wishes, replies, strict=True)
        return OffsetFetchResponse(
            groups=[_group_answer(wish, reply, context, by_id=by_id) for wish, reply in pairs]
        )

    commands = [(wish.group_id, wish.command) for wish in wishes]
    return ask_each(context.broker.groups, commands, render)


# --- version 8 and later ------------------------------------------------------------------------


class _Wish(NamedTuple):
    group_id: str
    command: FetchOffsets | HeadraceError
    refused: Sequence[tuple[OffsetFetchRequestTopics, HeadraceError]] = ()
    """Topics whose ids are not known, and those that may not be described."""
    is_for_all: bool = False


def _wish(
    group: OffsetFetchRequestGroup, context: RequestContext, require_stable: bool, *, by_id: bool
) -> _Wish:
    refusal = maybe_group_refusal(context, Operation.DESCRIBE, group.group_id)
    if refusal is not None:
        return _Wish(group.group_id, refusal)
    partitions: list[TopicPartition] | None = None
    refused: list[tuple[OffsetFetchRequestTopics, HeadraceError]] = []
    ids = {}
    if group.topics is not None:
        partitions = []
        for wanted in group.topics:
            try:
                name = _described_name(wanted, context, by_id=by_id)
            except HeadraceError as error:
                refused.append((wanted, error))
                continue
            ids[name] = wanted.topic_id
            partitions += [TopicPartition(name, index) for index in wanted.partition_indexes]
    command = FetchOffsets(
        group.group_id, partitions, group.member_id, group.member_epoch, require_stable, ids
    )
    return _Wish(group.group_id, command, refused, partitions is None)


def _described_name(
    wanted: OffsetFetchRequestTopics, context: RequestContext, *, by_id: bool
) -> str:
    name = wanted.name
    if by_id:
        topic = context.broker.topics.by_id(wanted.topic_id)
        if topic is None:
            raise UnknownTopicId("there is no topic with this id")
        name = topic.name
    raise_if_topic_refused(context, Operation.DESCRIBE, name)
    return name


def _group_answer(
    wish: _Wish, reply: Any, context: RequestContext, *, by_id: bool
) -> OffsetFetchResponseGroup:
    if isinstance(reply, HeadraceError):
        return OffsetFetchResponseGroup(wish.group_id, [], error_code(reply))
    if wish.is_for_all:
        reply = _without_hidden(reply, context)
    answers = []
    for name, fetched in groupby(reply, key=_topic_of):
        topic_id = NO_TOPIC_ID
        if by_id:
            topic = context.broker.topics.get(name)
            if topic is None:
                continue  # all offsets were asked for, and this topic has no id any more
            topic_id = topic.id
        partitions = [_partition(each) for each in fetched]
        answers.append(OffsetFetchResponseTopics(name, topic_id, partitions))
    answers += [_refused_topic(wanted, error) for wanted, error in wish.refused]
    return OffsetFetchResponseGroup(wish.group_id, answers)


def _partition(fetched: FetchedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        fetched.partition.partition,
        fetched.offset,
        fetched.leader_epoch,
        fetched.metadata,
        _stability(fetched),
    )


def _refused_topic(
    wanted: OffsetFetchRequestTopics, error: HeadraceError
) -> OffsetFetchResponseTopics:
    code = error_code(error)
    partitions = [
        OffsetFetchResponsePartitions(index, NO_OFFSET, UNKNOWN_LEADER_EPOCH, "", code)
        for index in wanted.partition_indexes
    ]
    return OffsetFetchResponseTopics(wanted.name, wanted.topic_id, partitions)


# --- before version 8 ---------------------------------------------------------------------------


def _one_group(
    request: OffsetFetchRequest, context: RequestContext
) -> OffsetFetchResponse | Pending:
    asked = None
    if request.topics is not None:
        asked = [
            TopicPartition(topic.name, index)
            for topic in request.topics
            for index in topic.partition_indexes
        ]
    hidden = _hidden_topics(asked or (), context)
    version = context.version

    def render(reply: Any) -> OffsetFetchResponse:
        if not isinstance(reply, HeadraceError):
            found = _without_hidden(reply, context) if asked is None else reply
            refused = [_nothing(each) for each in asked or () if each.topic in hidden]
            code = error_code(TopicAuthorizationFailed())
            return OffsetFetchResponse(topics=_topics(found, NONE) + _topics(refused, code))
        code = error_code(reply)
        if version >= TOP_LEVEL_ERROR_FROM:
            return OffsetFetchResponse(error_code=code)
        return OffsetFetchResponse(topics=_topics([_nothing(p) for p in asked or ()], code))

    refusal = maybe_group_refusal(context, Operation.DESCRIBE, request.group_id)
    if refusal is not None:
        return render(refusal)
    partitions = None if asked is None else [each for each in asked if each.topic not in hidden]
    command = FetchOffsets(request.group_id, partitions, require_stable=request.require_stable)
    return ask(context.broker.groups, request.group_id, command, render)


def _hidden_topics(partitions: Sequence[TopicPartition], context: RequestContext) -> set[str]:
    return {
        name
        for name in {each.topic for each in partitions}
        if maybe_topic_refusal(context, Operation.DESCRIBE, name) is not None
    }


def _without_hidden(
    fetched: Sequence[FetchedOffset], context: RequestContext
) -> list[FetchedOffset]:
    """Of all offsets, those of topics that may be described."""
    return [
        each
        for each in fetched
        if context.allows(Operation.DESCRIBE, ResourceType.TOPIC, each.partition.topic)
    ]


def _topics(fetched: Sequence[FetchedOffset], code: int) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(
            name,
            [
                OffsetFetchResponsePartition(
                    each.partition.partition,
                    each.offset,
                    each.leader_epoch,
                    each.metadata,
                    code or _stability(each),
                )
                for each in of_topic
            ],
        )
        for name, of_topic in groupby(fetched, key=_topic_of)
    ]


def _nothing(partition: TopicPartition) -> FetchedOffset:
    return FetchedOffset(partition, NO_OFFSET, UNKNOWN_LEADER_EPOCH, "")


def _topic_of(fetched: FetchedOffset) -> str:
    return fetched.partition.topic


def _stability(fetched: FetchedOffset) -> int:
    return error_code(UnstableOffset()) if fetched.is_unstable else NONE
