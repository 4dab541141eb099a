from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.pipeline.source import option_values as values
from headrace.pipeline.source.errors import InvalidSourceOption

DURATIONS_MS = {
    "15m": 900_000,
    "90 s": 90_000,
    "500ms": 500,
    "7": 7,
    "2H": 7_200_000,
    "1d": 86_400_000,
}


@pytest.mark.parametrize(("text", "milliseconds"), DURATIONS_MS.items())
def test_durations_in_sparks_notation(text, milliseconds):
    assert values.duration_ms("x", text) == milliseconds


def test_a_long_value_is_not_repeated_in_full():
    with pytest.raises(InvalidSourceOption) as caught:
        values.whole_number("minPartitions", "9" * 1000)
    assert len(str(caught.value)) < 250


PARSERS = (
    lambda text: values.positions("o", text, least=-2, meaning="1"),
    lambda text: values.assigned_partitions("o", text),
    lambda text: values.topic_names("o", text),
    lambda text: values.duration_ms("o", text),
    lambda text: values.whole_number("o", text),
    lambda text: values.boolean("o", text),
    lambda text: values.pattern("o", text),
)


def is_named_error(parse, text):
    try:
        parse(text)
    except InvalidSourceOption as error:
        return "option o" in str(error)
    return True


@given(st.text())
def test_any_text_is_parsed_or_refused_by_name(text):
    assert all(is_named_error(parse, text) for parse in PARSERS)


def test_deeply_nested_json_is_refused():
    with pytest.raises(InvalidSourceOption, match="option o"):
        values.positions("o", '{"t":' * 100_000, least=0, meaning="1")
