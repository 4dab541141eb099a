"""The judge is judged: every fault is put into a history and must be found by its name."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.testing.history import Fault, HistoryViolated, Stamp
from headrace.testing.history_faults import EXAMPLES_MAX
from tests.unit.testing.history_bench import GROUP, TOPIC, Bench

# --- the log --------------------------------------------------------------------------------------


def test_faultless_log_has_no_violation_and_is_counted() -> None:
    bench = Bench()
    bench.produce(5)
    bench.produce(2, told=False)
    bench.produce(1, acknowledged=False)
    bench.lane.send()
    bench.lane.refuse(bench.lane.send().number)
    bench.scan()
    report = bench.history.report()
    assert report.is_clean
    report.raise_if_violated()
    counts = {name: count for name, count in report.counts.items() if count}
    assert counts == {
        "records sent": 10,
        "records acknowledged": 7,
        "records with unknown outcome": 2,
        "records refused": 1,
        "records read in scans of the log": 8,
    }


def test_acknowledged_record_that_is_gone_is_lost() -> None:
    bench = Bench()
    bench.produce(5)
    bench.remove(2, 3)
    bench.scan()
    assert bench.found == {Fault.LOST: 2}


def test_lost_tail_is_lost() -> None:
    bench = Bench()
    bench.produce(5)
    bench.remove(4)
    bench.scan(end=5)
    assert bench.found == {Fault.LOST: 1}


def test_record_acknowledged_without_offset_is_lost_too() -> None:
    bench = Bench()
    bench.produce(3)
    bench.produce(1, told=False)
    bench.remove(3)
    bench.scan()
    assert bench.found == {Fault.LOST: 1}


def test_lost_record_whose_place_another_one_took_is_lost() -> None:
    bench = Bench()
    bench.produce(2)
    other = bench.history.lane("q", TOPIC, 0)
    bench.replace(1, other.send())
    bench.scan()
    assert bench.found == {Fault.LOST: 1}


def test_unacknowledged_record_may_be_missing_but_its_offset_may_not() -> None:
    bench = Bench()
    bench.produce(1)
    bench.lane.send()
    bench.produce(1)
    bench.scan()
    assert bench.found == {}
    bench.produce(1, acknowledged=False)
    bench.produce(1)
    bench.remove(2)
    bench.scan()
    assert bench.found == {Fault.GAP: 1}


def test_record_that_was_read_and_is_gone_has_vanished() -> None:
    bench = Bench()
    bench.produce(1, acknowledged=False)
    bench.partition.reader().read(0, Stamp(bench.lane.id, 0))
    bench.log.clear()
    bench.produce(1)
    bench.log = [(1, bench.log[0][1], None, False)]
    bench.lane.told.drop_below(1)
    bench.scan()
    assert bench.found == {Fault.VANISHED: 1}


def test_record_that_is_there_twice_is_duplicated() -> None:
    bench = Bench()
    bench.produce(3)
    bench.append(bench.log[1][1])
    bench.scan()
    assert bench.found == {Fault.DUPLICATED: 1}


def test_duplicate_of_an_unacknowledged_record_is_found_while_reading() -> None:
    bench = Bench()
    stamp = bench.lane.send()
    reader = bench.partition.reader()
    reader.read(0, stamp)
    reader.read(1, stamp)
    assert bench.found == {Fault.DUPLICATED: 1}


def test_producer_without_idempotence_may_duplicate() -> None:
    bench = Bench(is_idempotent=False)
    bench.produce(3)
    bench.append(bench.log[1][1])
    bench.scan()
    assert bench.found == {}


def test_later_record_before_an_earlier_one_is_reordered() -> None:
    bench = Bench()
    bench.produce(4, told=False)
    first, second = bench.log[1][1], bench.log[2][1]
    bench.replace(1, second)
    bench.replace(2, first)
    bench.scan()
    assert bench.found == {Fault.REORDERED: 1}


def test_acknowledgements_out_of_order_are_reordered() -> None:
    bench = Bench()
    bench.lane.acknowledge(bench.lane.send().number, 7)
    bench.lane.acknowledge(bench.lane.send().number, 6)
    assert bench.found == {Fault.REORDERED: 1}


def test_record_of_nobody_is_a_phantom() -> None:
    bench = Bench()
    bench.produce(1)
    bench.append(Stamp(bench.lane.id, 99))
    bench.append(Stamp(12345, 0))
    bench.scan()
    assert bench.found == {Fault.PHANTOM: 2}


def test_record_of_another_partition_is_a_phantom() -> None:
    bench = Bench()
    bench.history.topic("other", 1)
    bench.produce(1)
    bench.append(bench.history.lane("p", "other", 0).send())
    bench.scan()
    assert bench.found == {Fault.PHANTOM: 1}


def test_refused_record_that_appears_is_a_phantom() -> None:
    bench = Bench()
    stamp = bench.lane.send()
    bench.lane.refuse(stamp.number)
    bench.append(stamp)
    bench.scan()
    assert bench.found == {Fault.PHANTOM: 1}


def test_record_elsewhere_than_told_has_a_wrong_offset() -> None:
    bench = Bench()
    bench.lane.acknowledge(bench.append(bench.lane.send()), 1)
    bench.append(bench.lane.send())
    bench.scan()
    assert bench.found == {Fault.WRONG_OFFSET: 1}


def test_wrong_offset_is_found_also_if_the_reader_came_first() -> None:
    bench = Bench()
    stamp = bench.lane.send()
    bench.partition.reader().read(4, stamp)
    bench.lane.acknowledge(stamp.number, 5)
    assert bench.found == {Fault.WRONG_OFFSET: 1}


def test_changed_content_is_wrong_and_not_lost_as_well() -> None:
    bench = Bench()
    bench.produce(3)
    bench.produce(1, told=False)
    bench.replace(1, None)
    bench.scan()
    assert bench.found == {Fault.WRONG_CONTENT: 1}


def test_offset_that_comes_twice_is_repeated() -> None:
    bench = Bench()
    bench.produce(2)
    bench.log.append((1, bench.lane.send(), None, False))
    bench.scan()
    assert bench.found == {Fault.OFFSET_REPEATED: 1}


def test_scan_beyond_the_high_watermark_is_found() -> None:
    bench = Bench()
    bench.produce(3)
    bench.scan(end=2)
    assert bench.found == {Fault.READ_BEYOND_WATERMARK: 1}


# --- consumers, ends of the log -------------------------------------------------------------------


def test_reader_beyond_the_high_watermark_is_found() -> None:
    bench = Bench()
    bench.produce(3)
    reader = bench.partition.reader()
    reader.watermark(0)
    for offset, stamp, _, _ in bench.log:
        reader.read(offset, stamp)
    reader.watermark(3)
    assert bench.found == {}
    reader.watermark(2)
    assert bench.found == {Fault.READ_BEYOND_WATERMARK: 1}


def test_reader_that_is_not_given_a_record_has_a_gap() -> None:
    bench = Bench()
    bench.produce(4)
    reader = bench.partition.reader()
    reader.read(0, bench.log[0][1])
    reader.read(3, bench.log[3][1])
    bench.partition.expect()
    bench.partition.observe(0, 4)
    assert bench.found == {Fault.GAP: 1}


def test_reader_may_jump_over_what_was_deleted() -> None:
    bench = Bench()
    bench.produce(4)
    reader = bench.partition.reader(bench.group)
    reader.read(3, bench.log[3][1])
    bench.partition.observe(0, 4)  # an answer older than the gap: nobody had expected it yet
    bench.partition.allow_deletion_before(3)
    bench.partition.expect()
    bench.partition.observe(3, 4)
    assert bench.found == {}


def test_reader_may_have_fetched_what_was_deleted_since() -> None:
    bench = Bench()
    bench.produce(4)
    reader = bench.partition.reader(bench.group)
    reader.read(0, bench.log[0][1])
    bench.partition.allow_deletion_before(3)
    bench.partition.observe(3, 4)
    for offset in (1, 2, 3):
        reader.read(offset, bench.log[offset][1])
    assert bench.found == {}


def test_deleted_beginning_is_not_lost_and_does_not_come_back() -> None:
    bench = Bench()
    bench.produce(3)
    bench.produce(1, told=False)
    bench.produce(3)
    bench.partition.allow_deletion_before(5)
    bench.partition.observe(5, 7)
    bench.scan(log_start=5)
    assert bench.found == {}
    assert bench.lane.told.run_count == 1
    bench.append(Stamp(bench.lane.id, 1))
    bench.scan(log_start=5)
    assert bench.found == {Fault.DUPLICATED: 1}


def test_retention_during_the_scan_is_no_loss() -> None:
    bench = Bench()
    bench.produce(6)
    bench.remove(1, 2)
    bench.partition.allow_deletion_before(3)
    bench.scan(log_start=3)
    assert bench.found == {}


# --- groups ---------------------------------------------------------------------------------------


def test_commit_that_went_back_is_found() -> None:
    bench = Bench()
    bench.group.attempt(bench.partition, 5)
    bench.group.acknowledge(bench.partition, 5)
    bench.group.attempt(bench.partition, 8)
    for answer in (5, 8):
        bench.group.observe(bench.group.promises(), {bench.partition: answer})
    assert bench.found == {}
    bench.group.observe(bench.group.promises(), {bench.partition: 4})
    bench.group.observe(bench.group.promises(), {})
    assert bench.found == {Fault.COMMIT_WENT_BACK: 2}
    assert bench.history.report().counts["commits checked"] == 4


def test_commit_that_nobody_made_is_found() -> None:
    bench = Bench()
    bench.group.attempt(bench.partition, 5)
    bench.group.observe({}, {bench.partition: 6})
    assert bench.found == {Fault.COMMIT_NOBODY_MADE: 1}


def test_member_that_resumes_before_the_commit_is_found() -> None:
    bench = Bench()
    bench.produce(4)
    bench.group.attempt(bench.partition, 3)
    bench.group.acknowledge(bench.partition, 3)
    bench.partition.reader(bench.group).read(2, bench.log[2][1])
    assert bench.found == {Fault.COMMIT_WENT_BACK: 1}


def test_member_that_resumes_after_all_commits_has_a_gap() -> None:
    bench = Bench()
    bench.produce(4)
    bench.group.attempt(bench.partition, 1)
    bench.partition.reader(bench.group).read(2, bench.log[2][1])
    bench.partition.observe(0, 4, bench.partition.expect())
    assert bench.found == {Fault.GAP: 1}


# --- compaction -----------------------------------------------------------------------------------


def compacted() -> Bench:
    bench = Bench(is_compacted=True)
    for key in (b"a", b"b", b"a", b"c", b"b"):
        bench.put(key)
    return bench


def test_compaction_takes_older_values_only() -> None:
    bench = compacted()
    bench.remove(0, 1)
    bench.scan()
    assert bench.found == {}
    assert bench.history.report().counts["keys checked in compacted logs"] == 3


def test_latest_value_that_is_gone_is_lost() -> None:
    bench = compacted()
    bench.remove(0, 1, 4)
    bench.scan(end=5)
    assert bench.found == {Fault.LOST: 1}


def test_deleted_key_may_be_gone_with_its_marker() -> None:
    bench = compacted()
    bench.put(b"a", tombstone=True)
    bench.scan()
    bench.remove(0, 2)
    bench.scan()
    bench.remove(5)
    bench.scan(end=6)
    assert bench.found == {}


def test_value_that_outlives_its_deletion_marker_is_resurrected() -> None:
    bench = compacted()
    bench.put(b"a", tombstone=True)
    bench.remove(0, 5)
    bench.scan(end=6)
    assert bench.found == {Fault.RESURRECTED: 1}


def test_compacted_log_is_judged_for_order_and_duplicates_too() -> None:
    bench = compacted()
    bench.append(bench.log[0][1], b"a")
    bench.scan()
    assert Fault.DUPLICATED in bench.found


# --- the report -----------------------------------------------------------------------------------


def test_examples_are_bounded_and_counts_are_not() -> None:
    bench = Bench()
    bench.produce(3 * EXAMPLES_MAX)
    bench.log = bench.log[-1:]
    bench.scan()
    report = bench.history.report()
    assert report.violations == {Fault.LOST: 3 * EXAMPLES_MAX - 1}
    assert len(report.examples) == EXAMPLES_MAX
    with pytest.raises(HistoryViolated, match="LOST orders-0: orders-0 p number 0 at 0"):
        report.raise_if_violated()


def test_forgotten_topics_and_groups_stay_counted() -> None:
    bench = Bench()
    bench.produce(3)
    bench.group.acknowledge(bench.partition, 1)
    bench.history.forget(TOPIC)
    bench.history.forget_group(GROUP)
    counts = bench.history.report().counts
    assert counts["records acknowledged"] == 3
    assert counts["commits acknowledged"] == 1
    assert bench.history.partitions == {}


def test_memory_grows_with_batches_and_not_with_records() -> None:
    bench = Bench()
    for start in range(0, 20_000, 1_000):
        for number in range(start, start + 1_000):
            bench.lane.acknowledge(bench.lane.send().number, number + start // 1_000)
    assert len(bench.lane.told) == 20_000
    assert bench.lane.told.run_count == 20


# --- random histories -----------------------------------------------------------------------------

TOLD, UNTOLD, UNKNOWN, NEVER_ARRIVED = range(4)


def random_history(chance: random.Random) -> tuple[Bench, list[int]]:
    """Some producers write one log, whose beginning goes, and a member of a group reads it."""
    bench = Bench()
    lanes = [bench.lane, bench.history.lane("q", TOPIC, 0), bench.history.lane("r", TOPIC, 0)]
    reader = bench.partition.reader(bench.group)
    outcomes: list[int] = []
    for _ in range(chance.randrange(8, 40)):
        lane = chance.choice(lanes)
        stamp, outcome = lane.send(), chance.choice((TOLD, TOLD, UNTOLD, UNKNOWN, NEVER_ARRIVED))
        if outcome != NEVER_ARRIVED:
            offset = bench.append(stamp)
            outcomes.append(outcome)
            if outcome in (TOLD, UNTOLD):
                lane.acknowledge(stamp.number, offset if outcome == TOLD else None)
        position = reader.position or 0
        if position < len(bench.log) and chance.random() < 0.3:
            reader.read(position, bench.log[position][1])
            reader.watermark(len(bench.log))
            bench.group.attempt(bench.partition, position + 1)
            bench.group.acknowledge(bench.partition, position + 1)
    return bench, outcomes


def conclude(bench: Bench, log_start: int, answered: int | None = None) -> None:
    end = bench.log[-1][0] + 1
    bench.partition.allow_deletion_before(log_start)
    floor = bench.partition.expect()
    floor = floor._replace(end_offset=min(floor.end_offset, end))
    bench.partition.observe(log_start, end, floor)
    bench.scan(log_start, end)
    promised = bench.group.promises()
    bench.group.observe(promised, promised if answered is None else {bench.partition: answered})


SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(0, 10))
def test_random_correct_history_has_no_violation(seed, log_start) -> None:
    bench, _ = random_history(random.Random(seed))
    assume(len(bench.log) > log_start)
    conclude(bench, log_start)
    bench.history.report().raise_if_violated()


def mutate_log(bench: Bench, fault: Fault, where: int) -> None:
    if fault in (Fault.LOST, Fault.GAP):
        bench.remove(where)
    elif fault is Fault.DUPLICATED:
        bench.append(bench.log[where][1])
    elif fault is Fault.PHANTOM:
        bench.append(Stamp(bench.lane.id, bench.lane.sent + where))
    elif fault is Fault.WRONG_CONTENT:
        bench.replace(where, None)
    else:
        bench.log.insert(where + 1, bench.log[where])


@given(
    SEEDS,
    st.sampled_from(
        (
            Fault.LOST,
            Fault.GAP,
            Fault.DUPLICATED,
            Fault.PHANTOM,
            Fault.WRONG_CONTENT,
            Fault.OFFSET_REPEATED,
            Fault.COMMIT_WENT_BACK,
            Fault.COMMIT_NOBODY_MADE,
        )
    ),
    st.data(),
)
def test_one_random_fault_in_a_correct_history_is_found_by_its_name(seed, fault, data) -> None:
    bench, outcomes = random_history(random.Random(seed))
    promised = bench.group.promises().get(bench.partition, 0)
    wanted = {Fault.LOST: (TOLD, UNTOLD), Fault.GAP: (UNKNOWN,)}.get(fault, (TOLD,))
    unread = range(promised if fault is Fault.GAP else 0, len(outcomes) - 1)
    candidates = [offset for offset in unread if outcomes[offset] in wanted]
    assume(candidates and promised)
    answered = None
    if fault is Fault.COMMIT_WENT_BACK:
        answered = promised - 1
    elif fault is Fault.COMMIT_NOBODY_MADE:
        answered = promised + 1
    else:
        mutate_log(bench, fault, data.draw(st.sampled_from(candidates)))
    conclude(bench, 0, answered)
    assert bench.found == {fault: 1}
