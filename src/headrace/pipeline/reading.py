"""Reading a range of offsets in a task: from the broker's files if they are in reach, else from the
broker.

Both ways give the same columns. The broker is asked first what is left of the range: offsets that
are gone are an error or a warning (``failOnDataLoss``), never a silent gap. Where storage fails in
the middle, ``auto`` goes on with Fetch at the offset that comes next.
"""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import TYPE_CHECKING

from headrace.model.errors import InvalidTopicName
from headrace.model.topic import raise_if_illegal_topic_name
from headrace.pipeline.broker_view import BrokerView
from headrace.pipeline.errors import StorageUnreachable, TopicMissing
from headrace.pipeline.fetched import fetched_columns
from headrace.pipeline.losses import MADE_ANEW, admit_loss
from headrace.pipeline.read_settings import READ_PATHS, ReadSettings
from headrace.pipeline.segments import StoredPartition
from headrace.pipeline.storage_location import cluster_id_of, open_location
from headrace.pipeline.stored import stored_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from headrace.model.topic import TopicId, TopicPartition
    from headrace.pipeline.ranges import OffsetRange
    from headrace.records.columns import Columns

__all__ = ["READ_PATHS", "ReadSettings", "read_range", "read_ranges"]

log = logging.getLogger(__name__)

VIEWS_MAX = 4
"""Clients that a worker process keeps for its next task."""

_views: dict[tuple[int, tuple[tuple[str, str], ...]], BrokerView] = {}


def read_range(wanted: OffsetRange, settings: ReadSettings) -> Iterator[Columns]:
    """All records of ``wanted``, in order, in batches of bounded size."""
    for _, columns in read_ranges([wanted], settings):
        yield columns


def read_ranges(
    wanted: Sequence[OffsetRange], settings: ReadSettings
) -> Iterator[tuple[OffsetRange, Columns]]:
    """Several ranges, one after the other. The broker is asked about all of them at once: each
    question takes time that its clients wait for.
    """
    for one in wanted:
        _raise_if_no_topic_name(one.topic)
    view = broker_view_of(settings.kafka)
    for one, left in zip(wanted, what_is_left(wanted, view, settings), strict=True):
        for columns in _read(left, view, settings):
            yield one, columns


def _read(left: OffsetRange, view: BrokerView, settings: ReadSettings) -> Iterator[Columns]:
    if left.is_empty:
        return
    if settings.path != "fetch":
        position = left.start
        try:
            partition = reachable_partition(left, view, settings)
            log_start = partial(log_start_of, view, left.address)
            for columns in stored_columns(partition, left, settings, log_start):
                position = columns.next_offset
                yield columns
        except StorageUnreachable as error:
            view.forget_log_directory()
            if settings.path == "storage":
                raise
            log.info("%s is read through the broker: %s", left, error.message)
            (left,) = what_is_left([left._replace(start=position)], view, settings)
        else:
            return
    if not left.is_empty:
        yield from fetched_columns(view, left, settings)


def log_start_of(view: BrokerView, address: TopicPartition) -> int:
    return view.earliest([address])[address]


def what_is_left(
    wanted: Sequence[OffsetRange], view: BrokerView, settings: ReadSettings
) -> list[OffsetRange]:
    """The part of each range that the log still holds; what it does not is admitted as a loss."""
    asked = [one for one in wanted if not one.is_empty]
    made_anew = _made_anew({one.topic for one in asked}, view, settings)
    addresses = {one.address for one in asked if one.topic not in made_anew}
    starts = view.earliest(addresses)
    ends = view.latest(addresses, is_committed=False)
    left = []
    for one in wanted:
        if one.is_empty:
            left.append(one)
        elif one.topic in made_anew:
            is_fatal = settings.fail_on_data_loss
            admit_loss(one.address, one.start, one.end, MADE_ANEW, is_fatal=is_fatal)
            left.append(one._replace(start=one.end))
        else:
            left.append(_within(one, starts[one.address], ends[one.address], settings))
    return left


def _within(wanted: OffsetRange, start: int, end: int, settings: ReadSettings) -> OffsetRange:
    address, is_fatal = wanted.address, settings.fail_on_data_loss
    if wanted.start < start:
        kept_from = min(start, wanted.end)
        cause = f"the log starts at {start} now"
        admit_loss(address, wanted.start, kept_from, cause, is_fatal=is_fatal)
        wanted = wanted._replace(start=kept_from)
    if end < wanted.end:
        kept_to = max(end, wanted.start)
        admit_loss(address, kept_to, wanted.end, f"the log ends at {end} now", is_fatal=is_fatal)
        wanted = wanted._replace(end=kept_to)
    return wanted


def _made_anew(topics: Iterable[str], view: BrokerView, settings: ReadSettings) -> set[str]:
    """Topics that are others than those which the driver planned with."""
    planned = {topic: found for topic in topics if (found := _planned_id(topic, settings))}
    now = view.topic_ids(sorted(planned))
    return {topic for topic, topic_id in planned.items() if now[topic] != topic_id}


def _planned_id(topic: str, settings: ReadSettings) -> TopicId | None:
    text = (settings.topic_ids or {}).get(topic)
    return bytes.fromhex(text) if text else None


def reachable_partition(
    wanted: OffsetRange, view: BrokerView, settings: ReadSettings
) -> StoredPartition:
    """The partition's files; StorageUnreachable if they are not in reach, or another's."""
    url = settings.storage_url or view.log_directory()
    if url is None:
        raise StorageUnreachable(
            "the broker does not tell where its files are; set headrace.storage.url"
        )
    location = open_location(url)
    found, expected = cluster_id_of(location), view.cluster_id()
    if found != expected:
        raise StorageUnreachable(
            f"{location.url} belongs to cluster {found}, the broker to {expected}"
        )
    topic_id = _planned_id(wanted.topic, settings) or view.topic_id(wanted.topic)
    partition = StoredPartition(location, wanted.address, topic_id)
    partition.raise_if_foreign()
    return partition


def broker_view_of(kafka: Mapping[str, str]) -> BrokerView:
    """A view that is kept for the next task of this process; a fork must not inherit it."""
    key = os.getpid(), tuple(sorted(kafka.items()))
    view = _views.get(key)
    if view is None:
        while len(_views) >= VIEWS_MAX:
            _views.pop(next(iter(_views)))  # Not closed: another thread may be using it.
        view = _views[key] = BrokerView(kafka)
    return view


def _raise_if_no_topic_name(topic: str) -> None:
    """The name becomes part of a path: it must be one that a topic can have."""
    try:
        raise_if_illegal_topic_name(topic)
    except InvalidTopicName as error:
        raise TopicMissing(f"there can be no topic {topic!r}: {error.message}") from error
