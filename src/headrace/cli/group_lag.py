"""What groups have committed, and how far that is from the ends of the logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cli.exit_codes import Failure
from headrace.cli.topic import offset_ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka.admin import AdminClient

    from headrace.cli.client import Broker

Places = dict[tuple[str, int], int]
"""Topic and partition, and an offset."""

GROUPS_AT_ONCE = 50
"""Requests that wait for their answers together."""


def committed_offsets(broker: Broker, admin: AdminClient, name: str) -> Places:
    return _committed(broker.result(_ask(admin, name), f"group {name}"))


def end_offsets(broker: Broker, admin: AdminClient, topics: set[str]) -> Places:
    """Of those topics that exist."""
    known = broker.metadata(admin).topics
    return {
        (topic, index): offset
        for topic in topics & known.keys()
        for index, offset in offset_ranges(broker, admin, topic, list(known[topic].partitions))[
            1
        ].items()
    }


def group_lags(broker: Broker, admin: AdminClient, names: Sequence[str]) -> dict[str, int | None]:
    """The lag of each group over all partitions; None if it has committed nothing, or hides it."""
    committed: dict[str, Places] = {}
    for start in range(0, len(names), GROUPS_AT_ONCE):
        futures = {name: _ask(admin, name) for name in names[start : start + GROUPS_AT_ONCE]}
        for name, future in futures.items():
            try:
                committed[name] = _committed(broker.result(future, f"group {name}"))
            except Failure:
                # Gone since it was listed, or not for us to see: the others are of interest still.
                committed[name] = {}
    topics = {topic for places in committed.values() for topic, _ in places}
    ends = end_offsets(broker, admin, topics) if topics else {}
    return {name: _lag(places, ends) for name, places in committed.items()}


def _lag(committed: Places, ends: Places) -> int | None:
    known = [max(ends[place] - offset, 0) for place, offset in committed.items() if place in ends]
    return sum(known) if known else None


def _ask(admin: AdminClient, name: str) -> Any:
    from confluent_kafka import ConsumerGroupTopicPartitions

    return admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])[name]


def _committed(listed: Any) -> Places:
    return {
        (place.topic, place.partition): place.offset
        for place in listed.topic_partitions
        if place.offset >= 0
    }
