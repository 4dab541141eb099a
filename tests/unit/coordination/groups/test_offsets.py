"""The table of committed offsets, by replay alone."""

from __future__ import annotations

from headrace.coordination.groups.offsets import Offsets
from headrace.coordination.groups.record_codecs import offset_record, offset_tombstone
from headrace.coordination.groups.records import CommittedOffset
from headrace.model.topic import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def committed(offset: int) -> CommittedOffset:
    return CommittedOffset(offset, -1, "", 1)


def test_last_record_of_a_partition_counts() -> None:
    offsets = Offsets()
    for offset in (5, 3):
        assert offsets.replay(*offset_record("g", T0, committed(offset))) == "g"
    offsets.replay(*offset_record("h", T0, committed(9)))
    assert dict(offsets.of_group("g")) == {T0: committed(3)}
    assert offsets.group_ids() == ["g", "h"]


def test_tombstone_forgets_and_the_last_one_forgets_the_group() -> None:
    offsets = Offsets()
    offsets.replay(*offset_record("g", T0, committed(5)))
    offsets.replay(*offset_record("g", T1, committed(6)))
    assert offsets.replay(*offset_tombstone("g", T0)) is None
    assert list(offsets.of_group("g")) == [T1]
    offsets.replay(*offset_tombstone("g", T1))
    assert offsets.group_ids() == []


def test_tombstone_of_the_unknown_is_ignored() -> None:
    offsets = Offsets()
    assert offsets.replay(*offset_tombstone("g", T0)) is None
    assert not offsets.of_group("g")


def test_marker_moves_what_waits_or_drops_it() -> None:
    offsets = Offsets()
    offsets.replay(*offset_record("g", T0, committed(1)))
    for producer_id, group_id in ((7, "g"), (8, "h")):
        key, value = offset_record(group_id, T0, committed(producer_id))
        assert value is not None
        assert offsets.replay_pending(producer_id, key, value) == group_id
    assert (offsets.group_ids(), offsets.all_group_ids()) == (["g"], ["g", "h"])
    offsets.end_transaction(8, is_commit=False)
    offsets.end_transaction(7, is_commit=True)
    assert dict(offsets.of_group("g")) == {T0: committed(7)}
    assert offsets.all_group_ids() == ["g"]


def test_partitions_are_those_with_an_offset_of_either_kind() -> None:
    offsets = Offsets()
    for partition in (T0, T1):
        key, value = offset_record("g", partition, committed(5))
        offsets.replay_pending(7, key, value or b"")
    offsets.replay(*offset_record("g", T1, committed(6)))
    assert sorted(offsets.partitions_of("g")) == [T0, T1]
    offsets.replay(*offset_tombstone("g", T0))
    assert offsets.partitions_of("g") == [T1]
