"""The crew of processors, with small programs in their place: replaced, killed, listened to."""

from __future__ import annotations

import random
import sys

import pytest

from headrace.testing.history_transactions import PipelineHistory, Result, result_of
from soak.clients import ClientStuck
from soak.transactions.crew import Crew
from soak.transactions.task import BEGUN_AGAIN_STATUS, Task, output_partition
from tests.interop.deadline import wait_until

WAITS = "import time; time.sleep(60)"
TASK = Task("127.0.0.1:9092", "processor-0", "0.0", 7)


def make_crew(directory, program, size=1):
    crew = Crew(
        lambda task: [sys.executable, "-c", program, *task.to_arguments()],
        "127.0.0.1:9092",
        directory,
        random.Random(1),
        size,
    )
    crew.start()
    return crew


def tend_until(crew, condition):
    def tended():
        crew.tend()
        return condition()

    wait_until(tended, "the crew is tended", 30.0)


def test_a_task_goes_through_a_command_line():
    assert Task.from_arguments(TASK.to_arguments()) == TASK
    with pytest.raises(ValueError):
        Task.from_arguments(TASK.to_arguments()[1:])


def test_a_transaction_goes_to_several_partitions():
    assert [output_partition(number, 2) for number in range(8)] == [0, 0, 0, 1, 1, 1, 0, 0]


def test_whoever_cannot_go_on_is_replaced(tmp_path):
    crew = make_crew(tmp_path, f"raise SystemExit({BEGUN_AGAIN_STATUS})")
    tend_until(crew, lambda: crew.ended_by_themselves >= 2)
    crew.stop()


def test_whoever_fails_is_reported_with_what_he_said(tmp_path):
    crew = make_crew(tmp_path, "raise SystemExit('out of luck')")
    with pytest.raises(ClientStuck, match="ended with 1: out of luck"):
        tend_until(crew, lambda: False)
    crew.stop()


def test_the_killed_are_replaced_and_sometimes_under_another_name(tmp_path):
    crew = make_crew(tmp_path, WAITS, size=2)
    for _ in range(12):
        crew.kill_one()
    crew.tend()
    crew.stop()
    assert crew.kills == 12
    assert 0 < crew.kills_with_new_id < 12
    assert crew.ended_by_themselves == 0


def test_the_frozen_go_on(tmp_path):
    crew = make_crew(tmp_path, WAITS)
    go_on = crew.freeze_one()
    go_on()
    crew.tend()
    crew.stop()
    assert crew.freezes == 1


def test_only_whole_lines_are_believed(tmp_path):
    (tmp_path / "0.0.out").write_text("committed 0.0/0\naborted 0.0/1\ncommitted 0.0/")
    history = PipelineHistory(1, 1)
    crew = Crew(lambda task: [], "127.0.0.1:9092", tmp_path, random.Random(1), 1)
    crew.tell(history)
    value = Result(0, result_of(0), "0.0/0", 1, False).to_value()
    history.read_committed(0, 0, value)
    history.read_uncommitted(0, 0, value)
    report = history.report()
    assert report.is_clean
    assert report.counts["transactions acknowledged"] == 1
    assert report.counts["transactions aborted on purpose"] == 1
