"""CPU time and memory of processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from bench.lake.process_tree import (
    Memory,
    MemoryWatch,
    cpu_seconds,
    memory,
    memory_sizes,
    process_cpu_seconds,
    tree,
)


def test_a_tree_is_a_process_and_all_below_it():
    parents = {2: 1, 3: 2, 4: 3, 5: 1, 6: 5}
    assert tree(2, parents) == {2, 3, 4}
    assert tree(5, parents) == {5, 6}
    assert tree(9, parents) == {9}


def test_cpu_time_is_what_the_process_itself_counts_and_finer_than_a_tick():
    before = process_cpu_seconds(os.getpid())
    own = time.process_time()
    while time.process_time() - own < 0.003:
        pass
    assert process_cpu_seconds(os.getpid()) - before == pytest.approx(0.003, abs=0.002)


def test_a_process_that_has_ended_costs_nothing_more():
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    assert cpu_seconds(child.pid) == 0.0
    with pytest.raises((ProcessLookupError, FileNotFoundError)):
        process_cpu_seconds(child.pid)


def test_children_are_part_of_their_parent():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as parent:
        deadline_s = time.monotonic() + 10
        while len(tree(parent.pid)) < 2 and time.monotonic() < deadline_s:
            time.sleep(0.01)
        assert len(tree(parent.pid)) == 2
        assert 0 < memory(parent.pid).own_megabytes < memory(parent.pid).resident_megabytes
        assert parent.stdin is not None
        parent.stdin.write(b"\n")


def test_memory_is_read_from_lines_of_sizes():
    lines = ["Name:\tjava", "VmRSS:\t    2000 kB", "RssAnon:\t    1000 kB", "Threads:\t3"]
    assert memory_sizes(lines) == {"VmRSS": 2_048_000, "RssAnon": 1_024_000}


def test_a_watch_keeps_the_most_of_each_tree():
    seen = {1: iter([Memory(5, 1), Memory(3, 4)]), 2: iter([Memory(7, 7), Memory(8, 0)])}
    watch = MemoryWatch({"spark": 1, "broker": 2}, lambda root: next(seen[root]), seconds=60)
    with watch:
        watch._take()
    assert watch.most == {"spark": Memory(5, 4), "broker": Memory(8, 7)}
