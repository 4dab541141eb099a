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
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.frontends.kafka.group_answers import ask, ask_each
from headrace.model.errors import HeadraceError, UnknownTopicId, UnstableOffset
from headrace.model.topic import NO_TOPIC_ID, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.broker.topics import Topics
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


def handle(request: OffsetFetchRequest, context: RequestContext) -> Pending:
    if context.version < SEVERAL_GROUPS_FROM:
        return _one_group(request, context)
    by_id = context.version >= TOPIC_IDS_FROM
    topics = context.broker.topics
    wishes = [_wish(group, topics, request.require_stable, by_id=by_id) for group in request.groups]

    def render(replies: Sequence[Any]) -> OffsetFetchResponse:
        pairs = zip(wishes, replies, strict=True)
        return OffsetFetchResponse(
            groups=[_group_answer(wish, reply, topics, by_id=by_id) for wish, reply in pairs]
        )

    commands = [(wish.command.group_id, wish.command) for wish in wishes]
    return ask_each(context.broker.groups, commands, render)


# --- version 8 and later ------------------------------------------------------------------------


class _Wish(NamedTuple):
    command: FetchOffsets
    unknown: Sequence[OffsetFetchRequestTopics]
    """Topics whose ids are not known."""


def _wish(
    group: OffsetFetchRequestGroup, topics: Topics, require_stable: bool, *, by_id: bool
) -> _Wish:
    partitions: list[TopicPartition] | None = None
    unknown: list[OffsetFetchRequestTopics] = []
    ids = {}
    if group.topics is not None:
        partitions = []
        for wanted in group.topics:
            topic = topics.by_id(wanted.topic_id) if by_id else None
            if by_id and topic is None:
                unknown.append(wanted)
                continue
            name = wanted.name if topic is None else topic.name
            ids[name] = wanted.topic_id
            partitions += [TopicPartition(name, index) for index in wanted.partition_indexes]
    command = FetchOffsets(
        group.group_id, partitions, group.member_id, group.member_epoch, require_stable, ids
    )
    return _Wish(command, unknown)


def _group_answer(
    wish: _Wish, reply: Any, topics: Topics, *, by_id: bool
) -> OffsetFetchResponseGroup:
    group_id = wish.command.group_id
    if isinstance(reply, HeadraceError):
        return OffsetFetchResponseGroup(group_id, [], error_code(reply))
    answers = []
    for name, fetched in groupby(reply, key=_topic_of):
        topic_id = NO_TOPIC_ID
        if by_id:
            topic = topics.get(name)
            if topic is None:
                continue  # all offsets were asked for, and this topic has no id any more
            topic_id = topic.id
        partitions = [_partition(each) for each in fetched]
        answers.append(OffsetFetchResponseTopics(name, topic_id, partitions))
    answers += [_unknown_topic(wanted) for wanted in wish.unknown]
    return OffsetFetchResponseGroup(group_id, answers)


def _partition(fetched: FetchedOffset) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        fetched.partition.partition,
        fetched.offset,
        fetched.leader_epoch,
        fetched.metadata,
        _stability(fetched),
    )


def _unknown_topic(wanted: OffsetFetchRequestTopics) -> OffsetFetchResponseTopics:
    code = error_code(UnknownTopicId())
    partitions = [
        OffsetFetchResponsePartitions(index, NO_OFFSET, UNKNOWN_LEADER_EPOCH, "", code)
        for index in wanted.partition_indexes
    ]
    return OffsetFetchResponseTopics("", wanted.topic_id, partitions)


# --- before version 8 ---------------------------------------------------------------------------


def _one_group(request: OffsetFetchRequest, context: RequestContext) -> Pending:
    partitions = None
    if request.topics is not None:
        partitions = [
            TopicPartition(topic.name, index)
            for topic in request.topics
            for index in topic.partition_indexes
        ]
    version = context.version

    def render(reply: Any) -> OffsetFetchResponse:
        if not isinstance(reply, HeadraceError):
            return OffsetFetchResponse(topics=_topics(reply, NONE))
        code = error_code(reply)
        if version >= TOP_LEVEL_ERROR_FROM:
            return OffsetFetchResponse(error_code=code)
        return OffsetFetchResponse(topics=_topics([_nothing(p) for p in partitions or ()], code))

    command = FetchOffsets(request.group_id, partitions, require_stable=request.require_stable)
    return ask(context.broker.groups, request.group_id, command, render)


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
