"""The lifeline: the end of a pipe is the end of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from headrace.pipeline.jobs.lifeline import EXIT_ABANDONED, watch_lifeline

WAIT_SECONDS = 30.0
PROGRAM = """
import sys, threading
from headrace.pipeline.jobs.lifeline import watch_lifeline
stop = threading.Event()
watch_lifeline(sys.stdin.fileno(), stop, stop_seconds_max=0.05)
print("ready", flush=True)
{then}
"""


def start(then: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(then=then)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_lines_are_handed_on_until_the_end() -> None:
    reading, writing = os.pipe()
    lines: list[bytes] = []
    stop = threading.Event()
    watch_lifeline(reading, stop, lines.append, stop_seconds_max=3_600)
    os.write(writing, b"one\ntw")
    os.write(writing, b"o\n")
    os.close(writing)
    assert stop.wait(WAIT_SECONDS)
    assert lines == [b"one", b"two"]
    os.close(reading)


def test_process_that_does_not_end_is_ended() -> None:
    process = start("threading.Event().wait()")
    process.communicate(timeout=WAIT_SECONDS)
    assert process.returncode == EXIT_ABANDONED


def test_process_can_end_before_its_parent() -> None:
    """With a thread that waits for the pipe; an interpreter must not trip over it."""
    process = start("")
    assert process.wait(WAIT_SECONDS) == 0
    process.communicate()
