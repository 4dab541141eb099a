"""Faults: whose words reach a person, and whether another try can help."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.errors import BrokerUnreachable, SchemaConflict
from headrace.pipeline.jobs.fault import Fault, fault_of

IN_A_TASK = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times
Traceback (most recent call last):
  File "worker.py", line 1, in main
headrace.pipeline.errors.{name}: {message}

\tat org.apache.spark.api.python
"""


def test_our_errors_say_themselves_whether_to_retry() -> None:
    assert fault_of(InvalidConfig("wrong")) == Fault("wrong", False)
    assert fault_of(BrokerUnreachable("gone")) == Fault("gone", True)


def test_our_error_behind_another_is_found() -> None:
    def work() -> None:
        try:
            raise SchemaConflict("two types")
        except SchemaConflict as error:
            raise RuntimeError("query ended") from error

    with pytest.raises(RuntimeError) as raised:
        work()
    assert fault_of(raised.value) == Fault("two types", False)


@pytest.mark.parametrize(("name", "can_retry"), [("SchemaConflict", False), ("TargetFull", True)])
def test_our_error_in_a_task_is_found_in_the_text(name: str, can_retry: bool) -> None:
    text = IN_A_TASK.format(name=name, message="no space is left at /lake")
    assert fault_of(RuntimeError(text)) == Fault("no space is left at /lake", can_retry)


def test_of_errors_that_led_to_each_other_the_last_one_counts() -> None:
    inner = IN_A_TASK.format(name="TargetFull", message="no space is left")
    outer = IN_A_TASK.format(name="SchemaConflict", message="two types")
    text = f"{inner}\nThe above exception was the direct cause of the following one:\n{outer}"
    assert fault_of(RuntimeError(text)) == Fault("two types", False)


def test_unknown_fault_is_one_line_and_may_pass() -> None:
    assert fault_of(OSError("first\nsecond")) == Fault("OSError: first", True)
    assert fault_of(ValueError()) == Fault("ValueError", True)
    assert fault_of(RuntimeError("headrace.nothing.Here: x")).can_retry
