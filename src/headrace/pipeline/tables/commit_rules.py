"""May this batch be committed? The one decision that makes a table exactly once, without any I/O.

All formats keep the same few facts in their commits: who owns the table, and per job the last batch
and the positions behind it. A batch that is known is a replay and is passed over; but a known
*number* with unknown offsets means that the job lost its checkpoint and counts from zero again,
and to pass that over would lose records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.pipeline.errors import ForeignCheckpoint, TargetInUse
from headrace.pipeline.tables.errors import OverlappingOffsets
from headrace.pipeline.tables.positions import beyond, furthest, normal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.pipeline.ranges import PositionMap
    from headrace.pipeline.tables.data_file import DataFile


class SourceIds(NamedTuple):
    """Whose offsets positions are: a topic that was made anew has the same name and other records.

    Empty where it is not known.
    """

    cluster_id: str = ""
    topic_ids: Mapping[str, str] = {}


UNKNOWN_SOURCE = SourceIds()


class JobState(NamedTuple):
    """What a table remembers of a job."""

    batch_id: int
    positions: PositionMap
    source: SourceIds = UNKNOWN_SOURCE
    token: str = ""
    """Of the commit: tells whoever made it that it went in, should the answer have got lost."""

    def to_values(self) -> dict[str, Any]:
        """For JSON."""
        source = {"cluster": self.source.cluster_id, "topics": dict(self.source.topic_ids)}
        return {**self._asdict(), "source": source}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> JobState:
        source = values.get("source", {"cluster": "", "topics": {}})
        return cls(
            values["batch_id"],
            normal(values["positions"]),
            SourceIds(source["cluster"], dict(source["topics"])),
            values.get("token", ""),
        )


class TableState(NamedTuple):
    """What a table remembers of all jobs that ever wrote to it."""

    owner: str | None
    jobs: dict[str, JobState]

    def batch_of(self, job: str) -> int | None:
        known = self.jobs.get(job)
        return None if known is None else known.batch_id

    def positions_of(self, job: str) -> PositionMap:
        known = self.jobs.get(job)
        return {} if known is None else known.positions

    def source_of(self, job: str) -> SourceIds:
        known = self.jobs.get(job)
        return UNKNOWN_SOURCE if known is None else known.source

    def reached(self) -> PositionMap:
        """How far any job got."""
        return furthest(known.positions for known in self.jobs.values())

    def to_values(self) -> dict[str, Any]:
        """For JSON."""
        jobs = {job: known.to_values() for job, known in self.jobs.items()}
        return {"owner": self.owner, "jobs": jobs}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> TableState:
        jobs = {job: JobState.from_values(known) for job, known in values["jobs"].items()}
        return cls(values["owner"], jobs)

    def after(
        self,
        job: str,
        batch_id: int,
        positions: PositionMap,
        source: SourceIds = UNKNOWN_SOURCE,
        token: str = "",
    ) -> TableState:
        """The state once this batch is in the table: the job is its owner then."""
        reached = furthest((self.positions_of(job), positions))
        topic_ids = {**self.source_of(job).topic_ids, **source.topic_ids}
        ids = SourceIds(source.cluster_id, topic_ids)
        return TableState(job, {**self.jobs, job: JobState(batch_id, reached, ids, token)})


EMPTY_STATE = TableState(None, {})


def is_replay(
    state: TableState,
    url: str,
    *,
    job: str,
    batch_id: int,
    files: Sequence[DataFile],
    positions: PositionMap,
    take_over: bool = False,
) -> bool:
    """True: the batch is in the table. False: commit it. Anything odd is a named error."""
    raise_if_owned_by_another(state, url, job, take_over=take_over)
    known = state.jobs.get(job)
    if known is not None and batch_id <= known.batch_id:
        if ahead := beyond(positions, known.positions):
            raise ForeignCheckpoint(
                f"batch {batch_id} of job {job!r} is in {url} already, but with fewer offsets of "
                f"{', '.join(ahead)}: the job's checkpoint is not the one that wrote this table"
            )
        return True
    _raise_if_overlapping(state, url, files, positions)
    return False


def raise_if_owned_by_another(state: TableState, url: str, job: str, *, take_over: bool) -> None:
    if state.owner not in (None, job) and not take_over:
        raise TargetInUse(
            f"{url} is written by job {state.owner!r}; give job {job!r} another target, "
            f"or let it take the table over (option takeover=true)"
        )


def _raise_if_overlapping(
    state: TableState, url: str, files: Sequence[DataFile], positions: PositionMap
) -> None:
    reached = state.reached()
    for file in files:
        for range_ in file.ranges:
            known = reached.get(range_.topic, {}).get(range_.partition, 0)
            if range_.start < known:
                raise OverlappingOffsets(
                    f"{file.path} holds {range_}, but {url} has everything below {known} already"
                )
            end = positions.get(range_.topic, {}).get(range_.partition)
            if end is None or range_.end > end:
                raise OverlappingOffsets(
                    f"{file.path} holds {range_}, beyond the batch's own position {end}"
                )
