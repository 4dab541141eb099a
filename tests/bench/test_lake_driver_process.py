"""What is said between the bench and a driver, with a program in the driver's place."""

from __future__ import annotations

import pytest

from bench.lake.driver_process import DriverFailed, DriverProcess
from bench.lake.orders import DriverSettings, Job

SETTINGS = DriverSettings("engine", "127.0.0.1:1", "somewhere")
OBEDIENT = """
import json, sys
assert json.loads(sys.argv[1])["reader"] == "engine"
print("something that a library prints")
print('answer: {"seconds": 0.5}', flush=True)
for line in sys.stdin:
    job = json.loads(line)
    if job["topic"] == "bad":
        sys.exit("no such topic")
    print('answer: {"seconds": %d}' % len(job["target"]), flush=True)
"""


def test_each_job_is_answered_with_its_time():
    with DriverProcess(SETTINGS, ("-c", OBEDIENT)) as driver:
        assert driver.run(Job("orders", "xxx")) == 3
        assert driver.run(Job("orders", "xxxxx")) == 5


def test_a_driver_that_fails_is_quoted():
    with (
        DriverProcess(SETTINGS, ("-c", OBEDIENT)) as driver,
        pytest.raises(DriverFailed, match="driver of engine ended with 1: no such topic"),
    ):
        driver.run(Job("bad", "xxx"))


def test_a_driver_that_does_not_start_is_quoted():
    program = ("-c", "import sys; sys.exit('no Java')")
    with pytest.raises(DriverFailed, match="no Java"), DriverProcess(SETTINGS, program):
        pytest.fail("it has started")


def test_a_driver_that_does_not_answer_is_ended(monkeypatch):
    monkeypatch.setattr("bench.lake.driver_process.START_SECONDS_MAX", 0.2)
    program = ("-c", "input()")
    with (
        pytest.raises(DriverFailed, match=r"driver of engine gave no answer in 0.2 s"),
        DriverProcess(SETTINGS, program),
    ):
        pytest.fail("it has started")
