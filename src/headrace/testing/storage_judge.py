"""Whether a node that was stopped, by intention or not, still has all that it promised.

``judge`` compares every log and the metadata with what the clients were told; ``settle_accounts``
then makes the clients accept what is there, so that the next life can be judged as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.records.decode import decode_records
from headrace.records.header import batches
from headrace.testing.storage_clients import State

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from headrace.model.topic import TopicPartition
    from headrace.storage.log import SegmentedLog
    from headrace.testing.storage_clients import Clients, PartitionHistory, SentBatch
    from headrace.testing.storage_metadata import MetadataModel
    from headrace.testing.storage_node import StorageNode

READ_ALL_BYTES = 1 << 20


class FoundRecord(NamedTuple):
    """One record as a consumer gets it."""

    offset: int
    key: bytes | None
    value: bytes | None
    producer_id: int
    sequence: int
    is_control: bool


def read_all(log: SegmentedLog) -> Iterator[FoundRecord]:
    """Everything from the log start to the high watermark, fetch after fetch."""
    position = log.log_start_offset
    while position < log.high_watermark:
        data = log.read(position, READ_ALL_BYTES, log.high_watermark, at_least_one=True).read()
        if not data:
            return
        for start, header in batches(data):
            for record in decode_records(data[start : start + header.size_bytes]):
                if record.offset >= position:
                    yield FoundRecord(
                        record.offset,
                        record.key,
                        record.value,
                        header.producer_id,
                        header.base_sequence + record.offset - header.base_offset,
                        header.is_control,
                    )
            position = header.last_offset + 1


def judge(
    node: StorageNode,
    clients: Clients,
    metadata: MetadataModel,
    *,
    power_lost: bool,
    damaged: Collection[TopicPartition] = (),
) -> None:
    """AssertionError if anything was lost, doubled, reordered, torn apart or invented.

    Of ``damaged`` partitions the records may be fewer, but none may be wrong.
    """
    metadata.judge(node)
    found: dict[PartitionHistory, dict[int, FoundRecord]] = {}
    for log in node.logs.logs():
        history = clients.history(node, log.partition)
        on_disk = node.log(log.partition)
        assert history is not None
        assert on_disk is not None
        is_damaged = log.partition in damaged
        found[history] = _judge_log(on_disk, history, clients, power_lost, is_damaged)
    if not damaged:
        _judge_atomicity(found, clients, power_lost)


def _judge_log(
    log: SegmentedLog,
    history: PartitionHistory,
    clients: Clients,
    power_lost: bool,
    is_damaged: bool,
) -> dict[int, FoundRecord]:
    records = list(read_all(log))
    where = str(log.partition)
    assert log.high_watermark == log.log_end_offset, f"{where}: the end is not visible"
    offsets = [record.offset for record in records]
    for record in records:
        is_known = record.is_control or record.value in history.values
        assert is_known, f"{where}: {record.value!r} was never sent"
    if is_damaged:
        # Offsets are not covered by a batch's checksum: one below the recovery point may be wrong.
        return {record.offset: record for record in records}
    assert offsets == sorted(set(offsets)), f"{where}: offsets do not ascend"
    if not history.is_compacted:
        expected = list(range(log.log_start_offset, log.log_end_offset))
        assert offsets == expected, f"{where}: has offsets {offsets}, should have {expected}"
    _judge_order(where, records, history)
    _judge_start(log, history, power_lost)
    _judge_end(log, history, power_lost)
    by_offset = {record.offset: record for record in records}
    for append in clients.appends:
        for batch in append.batches:
            if batch.history is history and batch.offset is not None:
                is_kept = append.state is State.ACKNOWLEDGED
                is_kept &= batch.is_power_safe or not power_lost
                if not (power_lost and _may_be_in_a_hole(batch)):
                    _judge_batch(log, batch, by_offset, is_kept)
    _judge_aborted(log, history)
    return by_offset


def _judge_order(where: str, records: list[FoundRecord], history: PartitionHistory) -> None:
    seen: set[bytes] = set()
    sequences: dict[int, int] = {}
    for record in records:
        if record.is_control:
            continue
        assert record.value is not None
        assert record.value not in seen, f"{where}: {record.value!r} is there twice"
        seen.add(record.value)
        before = sequences.get(record.producer_id)
        if before is not None:
            is_next = record.sequence == before + 1
            is_later = history.is_compacted and record.sequence > before
            assert is_next or is_later, (
                f"{where}: producer {record.producer_id} has sequence {record.sequence}"
                f" after {before}"
            )
        sequences[record.producer_id] = record.sequence


def _judge_start(log: SegmentedLog, history: PartitionHistory, power_lost: bool) -> None:
    floor, ceiling, start = history.start_floor, history.start_ceiling, log.log_start_offset
    if power_lost and max(history.synced_end, history.shown_safe_end) <= ceiling:
        # Where a file system keeps a later name and loses an earlier one, a segment that was never
        # synced may be lost although its successor is there.
        ceiling = max(ceiling, start)
    assert floor <= start <= ceiling, f"{log.partition}: starts at {start}: {floor} to {ceiling}"


def _judge_end(log: SegmentedLog, history: PartitionHistory, power_lost: bool) -> None:
    promised = history.shown_safe_end if power_lost else history.shown_end
    promised = max(promised, history.synced_end)
    if history.cut_from is not None:
        promised = min(promised, history.cut_from)
    assert log.log_end_offset >= promised, (
        f"{log.partition}: ends at {log.log_end_offset}, {promised} was promised"
    )


def _judge_batch(
    log: SegmentedLog, batch: SentBatch, found: dict[int, FoundRecord], is_kept: bool
) -> None:
    """A batch that the log once had is at its place still, or the log ends before it."""
    assert batch.offset is not None
    for offset, (key, value) in enumerate(batch.pairs, batch.offset):
        if offset < log.log_start_offset:
            continue
        where = f"{log.partition}: {value!r} at {offset}"
        cut_from = batch.history.cut_from
        if cut_from is not None and offset >= cut_from:
            continue
        assert offset < log.log_end_offset or not is_kept, f"{where} was acknowledged and is lost"
        record = found.get(offset)
        if record is not None:
            assert (record.key, record.value) == (key, value), f"{where}: found {record}"
        elif offset < log.log_end_offset:
            is_superseded = batch.history.is_compacted and any(
                later.key == key for later in found.values() if later.offset > offset
            )
            assert is_superseded, f"{where} is missing"


def _may_be_in_a_hole(batch: SentBatch) -> bool:
    """A loss of power may take a segment that was never synced and leave the next one. Among the
    holes of a compacted log nobody can see that."""
    history, offset = batch.history, batch.offset
    is_unsynced = offset is not None and offset + len(batch.pairs) > history.synced_end
    return history.is_compacted and not batch.is_power_safe and is_unsynced


def _judge_aborted(log: SegmentedLog, history: PartitionHistory) -> None:
    told = log.aborted_transactions(log.log_start_offset, log.log_end_offset)
    for producer_id, first_offset, marker_offset in history.aborted:
        if log.log_start_offset <= first_offset and marker_offset < log.log_end_offset:
            assert (producer_id, first_offset) in told, (
                f"{log.partition}: the abort of producer {producer_id} is forgotten"
            )


def _judge_atomicity(
    found: dict[PartitionHistory, dict[int, FoundRecord]], clients: Clients, power_lost: bool
) -> None:
    """What was sent as one is there as a whole or not at all."""
    values = {
        history: {record.value for record in records.values()} for history, records in found.items()
    }
    for append in clients.appends:
        if append.state is State.ABANDONED or len(append.batches) < 2:
            continue
        fates = {
            str(batch.history.partition): batch.pairs[0][1] in values[batch.history]
            for batch in append.batches
            if batch.history in values
            and not batch.history.is_compacted
            and batch.history.cut_from is None
            and (batch.is_power_safe or not power_lost)
            and (batch.offset is None or batch.offset >= batch.history.start_ceiling)
        }
        assert len(set(fates.values())) < 2, f"an append was torn apart: {fates}"


# --- going on -------------------------------------------------------------------------------------


def settle_accounts(
    node: StorageNode, clients: Clients, metadata: MetadataModel, *, power_lost: bool
) -> None:
    """The clients see what became of their appends; those that lost something begin anew."""
    metadata.accept(node)
    in_holes = [
        batch
        for append in clients.appends
        for batch in append.batches
        if power_lost and _may_be_in_a_hole(batch)
    ]
    for log in node.logs.logs():
        history = clients.history(node, log.partition)
        assert history is not None
        history.cut_from = None
        history.is_switching = False
        history.forget_from(log.log_end_offset)
        if log.log_start_offset > history.start_ceiling:
            clients.reset_all()
        history.start_floor = history.start_ceiling = log.log_start_offset
    losers: set[str] = set()
    for append in clients.appends:
        is_lost = False
        for batch in append.batches:
            log_now = node.log(batch.history.partition)
            is_here = log_now is not None and log_now.topic_id == batch.history.topic_id
            if batch.offset is not None and (
                log_now is None
                or not is_here
                or batch.offset + len(batch.pairs) > log_now.log_end_offset
                or batch in in_holes
            ):
                is_lost = True
                batch.offset = None
            elif append.state is not State.ACKNOWLEDGED and _is_before_start(batch, log_now):
                batch.offset = None
        if append.state is State.APPLIED:
            append.state = State.UNSURE
        elif append.state is State.ACKNOWLEDGED and is_lost:
            append.state = State.ABANDONED
            losers.add(append.producer)
    for producer in losers:
        clients.reset(producer)


def _is_before_start(batch: SentBatch, log: SegmentedLog | None) -> bool:
    """Such a batch is gone, and whether the log still knows it again is not said."""
    return log is not None and batch.offset is not None and batch.offset < log.log_start_offset
