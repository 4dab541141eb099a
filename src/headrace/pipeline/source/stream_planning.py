"""What a streaming query reads next. It lives as long as the query does, in a process of its own.

Spark keeps the offsets and hands them back as ``start``: after a restart they may be older than the
log's beginning, of a topic that was made anew, or of another cluster. Each of these is noticed here
before a task reads anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.pipeline.errors import ForeignCheckpoint
from headrace.pipeline.losses import MADE_ANEW, PARTITION_GONE
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.source.limits import TriggerDelay, limited, total_lag
from headrace.pipeline.source.splitting import split_ranges
from headrace.pipeline.source.starting import starting_positions
from headrace.pipeline.source.stream_offset import StreamOffset

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from headrace.model.topic import TopicPartition
    from headrace.pipeline.source.options import SourceOptions
    from headrace.pipeline.source.positions import Positions
    from headrace.pipeline.source.questions import Questions


class StreamPlanner:
    """``now_ms`` is a steady clock: it measures how long a small batch has waited."""

    def __init__(
        self, options: SourceOptions, questions: Questions, now_ms: Callable[[], int]
    ) -> None:
        self._options = options
        self._questions = questions
        self._now_ms = now_ms
        self._delay = (
            TriggerDelay(options.min_offsets_per_trigger, options.max_trigger_delay_ms)
            if options.min_offsets_per_trigger is not None
            else None
        )
        self._target: Positions | None = None
        self._last_seen: StreamOffset | None = None

    def close(self) -> None:
        self._questions.close()

    def initial(self) -> StreamOffset:
        """Where a query without a checkpoint begins."""
        partitions = self._questions.selected()
        start = starting_positions(
            self._options.starting,
            partitions,
            self._questions,
            is_latest_if_none_newer=self._options.is_latest_if_none_newer,
        )
        return self._offset(self._inside_the_log(start))

    def stop_at_what_is_there(self) -> None:
        """From now on nothing counts that is newer than this moment."""
        self._target = self._questions.latest(self._questions.selected())

    def last_seen(self) -> StreamOffset | None:
        """The ends of the partitions when they were last asked for; limits do not apply to it."""
        return self._last_seen

    def latest(self, start: StreamOffset, *, is_limited: bool) -> StreamOffset:
        """Where the next micro-batch ends; equal to ``start`` if there is none."""
        self._raise_if_foreign(start)
        ends = self._ends(start)
        seen = self._offset(ends)
        self._last_seen = seen
        begin = self._begin(start, seen)
        ends = self._not_before(begin, ends)
        if is_limited:
            ends = self._limited(begin, ends)
            if ends == begin and begin.keys() == start.positions.keys():
                return start
        return replace(seen, positions=ends)

    def ranges(self, start: StreamOffset, end: StreamOffset) -> list[OffsetRange]:
        """For the tasks of one micro-batch. After a crash it is asked again for the same two."""
        self._raise_if_foreign(start)
        self._raise_if_foreign(end)
        start, end = self._without_gone(start, end)
        begin = self._begin(start, end)
        there = self._there(begin, self._of_the_same_topics(begin, end))
        return split_ranges(
            [OffsetRange(key.topic, key.partition, *there[key]) for key in sorted(there)],
            self._options.min_partitions,
            self._options.max_records_per_partition,
        )

    # --- whose offsets ----------------------------------------------------------------------------

    def _offset(self, positions: Positions) -> StreamOffset:
        """With the ids of this moment: a topic can be made anew while the query runs."""
        ids = self._questions.topic_ids({partition.topic for partition in positions})
        return StreamOffset(positions, self._questions.cluster_id(), ids)

    def _raise_if_foreign(self, offset: StreamOffset) -> None:
        cluster_id = self._questions.cluster_id()
        if offset.cluster_id not in ("", cluster_id):
            raise ForeignCheckpoint(
                f"the checkpoint belongs to cluster {offset.cluster_id}, and the broker to cluster "
                f"{cluster_id}: its offsets mean nothing there; choose another checkpointLocation"
            )
        topics = {partition.topic for partition in offset.positions}
        if topics and not any(self._questions.is_selected(topic) for topic in topics):
            raise ForeignCheckpoint(
                f"the checkpoint belongs to a query over {', '.join(sorted(topics))}, and this one "
                f"reads {self._options.selection}; choose another checkpointLocation"
            )

    def _without_gone(
        self, start: StreamOffset, end: StreamOffset
    ) -> tuple[StreamOffset, StreamOffset]:
        """A topic that a pattern found may be gone when its batch is planned again."""
        gone = sorted(end.positions.keys() - set(self._questions.selected()))
        for partition in gone:
            first, last = start.positions.get(partition, 0), end.positions[partition]
            if first < last:
                self._questions.admit_loss(partition, first, last, PARTITION_GONE)
        return start.without(gone), end.without(gone)

    # --- where logs end ---------------------------------------------------------------------------

    def _ends(self, start: StreamOffset) -> Positions:
        if self._target is None:
            return self._questions.latest(self._questions.selected())
        later = start.positions.keys() - self._target.keys()
        if not later:
            return self._target
        # Younger than the target, so there is nothing to read, but not gone either.
        there = later & set(self._questions.selected())
        return {**self._target, **{partition: start.positions[partition] for partition in there}}

    # --- where a batch begins ---------------------------------------------------------------------

    def _begin(self, start: StreamOffset, end: StreamOffset) -> Positions:
        """For each partition of ``end``; new ones begin at their first record."""
        known = {
            partition: offset
            for partition, offset in start.positions.items()
            if partition in end.positions and start.is_same_topic(partition.topic, end)
        }
        self._report_gone(start, end, known)
        added = sorted(end.positions.keys() - known.keys())
        earliest = self._questions.earliest(added)
        for partition in added:
            if earliest[partition] > 0 and partition not in start.positions:
                self._questions.admit_loss(
                    partition, 0, earliest[partition], "they aged out before the query saw them"
                )
        return {**known, **earliest}

    def _report_gone(
        self, start: StreamOffset, end: StreamOffset, known: Collection[TopicPartition]
    ) -> None:
        for partition in sorted(start.positions.keys() - set(known)):
            offset = start.positions[partition]
            cause = MADE_ANEW if partition in end.positions else PARTITION_GONE
            self._questions.admit_loss(partition, offset, offset + 1, cause)

    def _of_the_same_topics(self, begin: Positions, end: StreamOffset) -> Positions:
        """A batch that is planned again after a crash must not take its offsets from a topic that
        only has the same name.
        """
        now = self._offset(end.positions)
        same = {key: at for key, at in end.positions.items() if end.is_same_topic(key.topic, now)}
        for key in sorted(end.positions.keys() - same.keys()):
            if end.positions[key] > begin[key]:
                self._questions.admit_loss(key, begin[key], end.positions[key], MADE_ANEW)
        return same

    # --- what can be read -------------------------------------------------------------------------

    def _inside_the_log(self, positions: Positions) -> Positions:
        """A given start that lies outside is a loss; if that is allowed, the nearest inside."""
        partitions = sorted(positions)
        earliest = self._questions.earliest(partitions)
        latest = self._questions.latest_uncommitted(partitions)
        result = {}
        for partition, offset in sorted(positions.items()):
            if offset < earliest[partition]:
                self._questions.admit_loss(
                    partition, offset, earliest[partition], "the log begins later"
                )
            elif offset > latest[partition]:
                self._questions.admit_loss(
                    partition, latest[partition], offset, "the log ends before"
                )
            result[partition] = min(max(offset, earliest[partition]), latest[partition])
        return result

    def _not_before(self, begin: Positions, ends: Positions) -> Positions:
        """A log that ends before the query's position has lost records, unless it only looks so to
        a reader of committed records.
        """
        behind = sorted(key for key, end in ends.items() if end < begin[key])
        if not behind:
            return ends
        visible = self._questions.latest_uncommitted(behind)
        result = dict(ends)
        for partition in behind:
            if visible[partition] >= begin[partition]:
                result[partition] = begin[partition]
                continue
            self._questions.admit_loss(
                partition, visible[partition], begin[partition], "the log ends before, it was cut"
            )
        return result

    def _limited(self, begin: Positions, ends: Positions) -> Positions:
        is_patient = self._delay is not None and self._target is None
        if is_patient and self._delay is not None:
            lag = total_lag(begin, ends)
            if self._delay.must_wait(lag, self._now_ms()):
                return begin
        offsets_max = self._options.max_offsets_per_trigger
        return ends if offsets_max is None else limited(begin, ends, offsets_max)

    def _there(self, begin: Positions, ends: Positions) -> dict[TopicPartition, tuple[int, int]]:
        """The part of each range that the log still has; the rest is reported."""
        wanted = {key: (begin[key], end) for key, end in ends.items() if end > begin[key]}
        earliest = self._questions.earliest(sorted(wanted))
        latest = self._questions.latest_uncommitted(sorted(wanted))
        result = {}
        for key, (first, last) in wanted.items():
            if first < earliest[key]:
                gone = min(earliest[key], last)
                self._questions.admit_loss(key, first, gone, "they aged out meanwhile")
                first = gone
            if last > latest[key]:
                cut = max(latest[key], first)
                self._questions.admit_loss(key, cut, last, "the log ends before, it was cut")
                last = cut
            result[key] = (first, last)
        return result
