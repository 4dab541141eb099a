from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

import pytest

from headrace.pipeline.functions import (
    OnError,
    Record,
    StreamFunction,
    WindowedCount,
    function,
    load,
)
from headrace.pipeline.functions.errors import InvalidFunction


@function(source="orders", sink="large-orders")
def large(record: Record) -> bool:
    return len(record.value or b"") > 3


def test_a_declared_function_can_still_be_called() -> None:
    assert large(Record(None, b"1234")) is True
    assert large(Record(None, b"12")) is False


def test_defaults() -> None:
    assert (large.name, large.source, large.sink) == ("large", "orders", "large-orders")
    assert large.on_error is OnError.DEAD_LETTER
    assert large.dead_letter_topic_of("orders") == "orders.dead-letter"


def test_everything_can_be_chosen() -> None:
    declare = function(
        source="a", sink="b", name="n", tables={"t": {}}, on_error="stop", dead_letter_topic="d"
    )
    job = declare(lambda record, tables: None)
    assert (job.name, job.on_error) == ("n", OnError.STOP)
    assert job.dead_letter_topic_of("a") == "d"
    assert job.tables == {"t": {}}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"source": "a", "sink": "a"}, "written to a would be read again"),
        ({"source": "b,a", "sink": "a"}, "written to a would be read again"),
        ({"source": "b, a", "sink": "a"}, "written to a would be read again"),
        ({"source": " , ", "sink": "a"}, "needs a source topic"),
        ({"source": "", "sink": "a"}, "needs a source topic"),
        ({"source": "a", "sink": "b", "dead_letter_topic": "a"}, "written to a would"),
        ({"source": "a", "sink": "b", "on_error": "ignore"}, "dead-letter or stop"),
    ],
)
def test_what_cannot_work_is_refused(arguments: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidFunction, match=text):
        function(**arguments)(len)  # type: ignore[arg-type]


def test_a_count_into_its_own_source_is_refused() -> None:
    with pytest.raises(InvalidFunction):
        WindowedCount("n", "a", "a", "1 minute", "1 minute")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    made = ModuleType("jobs_of_a_test")
    made.large = large  # type: ignore[attr-defined]
    made.plain = len  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def test_a_job_is_found_by_its_name(module: ModuleType) -> None:
    job = load("jobs_of_a_test:large")
    assert isinstance(job, StreamFunction)
    assert job is large


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("jobs_of_a_test", "not of the form"),
        (":large", "not of the form"),
        ("jobs_of_a_test:small", "small"),
        ("no_such_module_anywhere:x", "no_such_module_anywhere"),
        ("jobs_of_a_test:plain", "declare it with @function"),
    ],
)
def test_a_job_that_cannot_be_found_is_named(module: ModuleType, reference: str, text: str) -> None:
    with pytest.raises(InvalidFunction, match=text):
        load(reference)


def test_a_job_can_be_given_other_topics() -> None:
    moved = replace(large, source="a,b", sink="c")
    assert moved.dead_letter_topic_of("b") == "b.dead-letter"
    with pytest.raises(InvalidFunction):
        replace(large, sink="orders")
