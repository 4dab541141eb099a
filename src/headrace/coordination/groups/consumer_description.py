"""A consumer group as administrators see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.consumer_commands import (
    DescribedConsumer,
    DescribedConsumerGroup,
    DescribedTopic,
)
from headrace.coordination.groups.consumer_draft import preferred_assignor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headrace.coordination.groups.consumer_group import ConsumerGroup
    from headrace.coordination.groups.consumer_member import Member
    from headrace.coordination.groups.consumer_topics import TopicCatalogue
    from headrace.model.topic import TopicId


def described_group(
    group: ConsumerGroup, catalogue: TopicCatalogue, assignors: Sequence[str]
) -> DescribedConsumerGroup:
    return DescribedConsumerGroup(
        group_id=group.group_id,
        state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor=preferred_assignor(group.members, assignors),
        members=tuple(
            _described_member(group, group.members[member_id], catalogue)
            for member_id in sorted(group.members)
        ),
    )


def _described_member(
    group: ConsumerGroup, member: Member, catalogue: TopicCatalogue
) -> DescribedConsumer:
    return DescribedConsumer(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        topic_names=tuple(sorted(member.topic_names)),
        pattern=member.pattern,
        assigned=_described_topics(member.assigned, catalogue),
        target=_described_topics(group.targets.get(member.member_id, {}), catalogue),
    )


def _described_topics(
    partitions: Mapping[TopicId, Iterable[int]], catalogue: TopicCatalogue
) -> tuple[DescribedTopic, ...]:
    """By name; topics that are gone are left out."""
    found = ((catalogue.topic_by_id(topic_id), topic_id) for topic_id in partitions)
    return tuple(
        sorted(
            (
                DescribedTopic(topic_id, topic.name, tuple(sorted(partitions[topic_id])))
                for topic, topic_id in found
                if topic is not None
            ),
            key=lambda topic: topic.name,
        )
    )
