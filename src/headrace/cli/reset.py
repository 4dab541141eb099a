"""Where ``group reset-offsets`` moves a group to, worked out before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.cli.client import admin_library
from headrace.cli.exit_codes import ExitCode, Failure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confluent_kafka.admin import AdminClient

    from headrace.cli.client import Broker

Place = tuple[str, int]


class Target(NamedTuple):
    """Exactly one of these."""

    earliest: bool = False
    latest: bool = False
    offset: int | None = None
    time_ms: int | None = None
    shift_by: int | None = None

    def raise_if_unclear(self) -> None:
        """Failure unless exactly one target is given."""
        given = sum(value is not None and value is not False for value in self)
        if given != 1:
            raise Failure(
                "pass one of --to-earliest, --to-latest, --to-offset, --to-time, --shift-by",
                ExitCode.USAGE,
            )


def parse_selection(selections: Sequence[str]) -> dict[str, set[int] | None]:
    """``orders`` is all of a topic's partitions, ``orders:0,2`` two of them."""
    chosen: dict[str, set[int] | None] = {}
    for selection in selections:
        topic, colon, numbers = selection.partition(":")
        if not colon:
            chosen[topic] = None
            continue
        try:
            indexes = {int(number) for number in numbers.split(",")}
        except ValueError as error:
            raise Failure(f"--topic {selection}: expected TOPIC:0,1", ExitCode.USAGE) from error
        chosen[topic] = (chosen.get(topic) or set()) | indexes
    return chosen


def planned_offsets(
    broker: Broker,
    admin: AdminClient,
    selections: Sequence[str],
    committed: Mapping[Place, int],
    target: Target,
) -> dict[Place, int]:
    """The new offset of each chosen partition, within what the logs hold."""
    plan: dict[Place, int] = {}
    for topic, wanted in parse_selection(selections).items():
        found = set(broker.metadata(admin, topic).topics[topic].partitions)
        for index in sorted((wanted or set()) - found):
            raise Failure(f"topic {topic} has no partition {index}", ExitCode.NOT_FOUND)
        places = [(topic, index) for index in sorted(wanted or found)]
        first, end = _ask(broker, admin, places, "earliest"), _ask(broker, admin, places, "latest")
        at_time: Mapping[Place, int] = {}
        if target.time_ms is not None:
            at_time = _ask(broker, admin, places, target.time_ms)
        for place in places:
            aimed = aim(target, first[place], end[place], at_time.get(place), committed.get(place))
            plan[place] = min(max(aimed, first[place]), end[place])
    return plan


def aim(target: Target, first: int, end: int, at_time: int | None, committed: int | None) -> int:
    """The offset that is meant, which may lie outside of the log."""
    if target.earliest:
        return first
    if target.latest:
        return end
    if target.offset is not None:
        return target.offset
    if target.shift_by is not None:
        # A group that has committed nothing is shifted from the beginning.
        return (first if committed is None else committed) + target.shift_by
    # No record is that young: the end.
    return end if at_time is None or at_time < 0 else at_time


def _ask(
    broker: Broker, admin: AdminClient, places: Sequence[Place], what: str | int
) -> dict[Place, int]:
    from confluent_kafka import TopicPartition

    specs = admin_library().OffsetSpec
    if isinstance(what, int):
        spec = specs.for_timestamp(what)
    else:
        spec = specs.earliest() if what == "earliest" else specs.latest()
    futures = admin.list_offsets({TopicPartition(*place): spec for place in places})
    return {
        (place.topic, place.partition): broker.result(future, str(place.topic)).offset
        for place, future in futures.items()
    }
