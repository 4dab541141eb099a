"""In processes of their own: what is given away here does not come back."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.jobs.priority import TURN_NS, last_half

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIRST_WITH_TURNS = (6, 12)


def kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])


SCRIPT = """
import os, sys
from pathlib import Path
from headrace.pipeline.jobs.priority import lower_priority
before = os.getpriority(os.PRIO_PROCESS, 0)
lower_priority(3, Path(sys.argv[1]))
print(os.getpriority(os.PRIO_PROCESS, 0) - before)
"""


def lowered_by(autogroup: Path, *, is_leader: bool) -> int:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(autogroup)],
        start_new_session=is_leader,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def test_a_session_of_its_own_makes_way_as_a_whole(tmp_path: Path) -> None:
    autogroup = tmp_path / "autogroup"
    autogroup.write_text("/autogroup-7 nice 0")
    assert lowered_by(autogroup, is_leader=True) == 3
    assert autogroup.read_text() == "3"


def test_the_session_of_somebody_else_stays_as_it_is(tmp_path: Path) -> None:
    autogroup = tmp_path / "autogroup"
    assert lowered_by(autogroup, is_leader=False) == 3
    assert not autogroup.exists()


def test_a_kernel_without_such_groups_is_no_fault(tmp_path: Path) -> None:
    assert lowered_by(tmp_path / "missing" / "autogroup", is_leader=True) == 3


TURN_SCRIPT = """
import ctypes, os, struct, sys
from headrace.pipeline.jobs.priority import lower_priority
lower_priority(1)
attributes = ctypes.create_string_buffer(48)
if os.fork() == 0:  # as Java and the workers are
    failed = ctypes.CDLL(None).syscall(int(sys.argv[1]), 0, attributes, 48, 0)
    print("failed" if failed else struct.unpack("=IIQiIQQQ", attributes.raw)[5])
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""
SCHED_GETATTR_NUMBERS = {"x86_64": 315, "aarch64": 275}


@pytest.mark.skipif(
    platform.machine() not in SCHED_GETATTR_NUMBERS or kernel() < FIRST_WITH_TURNS,
    reason="Linux has turns of a wanted length since 6.12",
)
def test_turns_are_short_also_those_of_children():
    number = str(SCHED_GETATTR_NUMBERS[platform.machine()])
    done = subprocess.run(
        [sys.executable, "-c", TURN_SCRIPT, number], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == TURN_NS


@pytest.mark.parametrize(("cores", "kept"), [(1, [0]), (2, [1]), (3, [2]), (4, [2, 3])])
def test_tables_leave_half_of_the_cores_to_others(cores: int, kept: list[int]):
    assert last_half(range(cores), core_of=lambda cpu: cpu) == kept


@pytest.mark.parametrize(
    ("core_of", "kept"), [(lambda cpu: cpu % 2, [1, 3]), (lambda cpu: cpu // 2 * 2, [2, 3])]
)
def test_threads_of_one_core_are_on_the_same_side(core_of: Callable[[int], int], kept: list[int]):
    assert last_half({0, 1, 2, 3}, core_of) == kept


def test_cores_that_are_not_ours_are_not_counted():
    assert last_half({4, 9}, core_of=lambda cpu: cpu) == [9]


HALF_SCRIPT = """
import os, sys
from headrace.pipeline.jobs.priority import make_way
before = os.sched_getaffinity(0)
master = make_way(None, 0)
if os.fork() == 0:  # as Java and the workers are
    print(len(before), len(os.sched_getaffinity(0)), os.sched_getaffinity(0) <= before, master)
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there can it be done")
def test_jobs_stay_on_their_half_and_spark_uses_all_of_it():
    done = subprocess.run(
        [sys.executable, "-c", HALF_SCRIPT], capture_output=True, text=True, check=True
    )
    before, kept, is_within, master = done.stdout.split()
    assert int(kept) == max(1, int(before) // 2)
    assert is_within == "True"
    assert master == f"local[{kept},4]"


def test_a_master_of_somebodys_choice_keeps_all_cores():
    script = """
import os
from headrace.pipeline.jobs.priority import make_way
before = os.sched_getaffinity(0)
print(make_way("spark://elsewhere:7077", 0), os.sched_getaffinity(0) == before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["spark://elsewhere:7077", "True"]
