"""Options: text to value and back, and refusals that name option, text and range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.option import INT_MAX, LONG_MAX, Kind, Option, render, split_list
from headrace.model.errors import InvalidConfig


def an_option(kind: Kind, **more: object) -> Option:
    return Option(name="some.name", kind=kind, default=None, help="Some help.", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Kind.BOOLEAN, "TRUE", True),
        (Kind.BOOLEAN, " false ", False),
        (Kind.INT, " 5 ", 5),
        (Kind.INT, "+5", 5),
        (Kind.LONG, str(LONG_MAX), LONG_MAX),
        (Kind.SHORT, "-32768", -32768),
        (Kind.DOUBLE, "0.5", 0.5),
        (Kind.LIST, " a , b,a", ("a", "b")),
        (Kind.LIST, "", ()),
        (Kind.STRING, " x ", "x"),
        (Kind.PASSWORD, "secret", "secret"),
    ],
)
def test_parse_accepts_what_kafka_accepts(kind: Kind, text: str, value: object) -> None:
    assert an_option(kind).parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.BOOLEAN, "yes"),
        (Kind.INT, "1_000"),
        (Kind.INT, "٣"),
        (Kind.INT, ""),
        (Kind.INT, "-"),
        (Kind.INT, "1.0"),
        (Kind.INT, str(INT_MAX + 1)),
        (Kind.SHORT, "32768"),
        (Kind.LONG, str(LONG_MAX + 1)),
        (Kind.LONG, "9" * 5000),
        (Kind.DOUBLE, "nan"),
        (Kind.DOUBLE, "inf"),
        (Kind.DOUBLE, "half"),
        (Kind.LIST, "a,,b"),
    ],
)
def test_parse_refuses_other_texts(kind: Kind, text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"some\.name="):
        an_option(kind).parse(text)


def test_refusal_names_option_text_and_range() -> None:
    option = Option(
        name="retention.ms", kind=Kind.LONG, default="1", help="", unit="milliseconds", minimum=-1
    )
    with pytest.raises(InvalidConfig) as refused:
        option.parse("abc")
    expected = "retention.ms=abc: expected a whole number of milliseconds >= -1"
    assert refused.value.message == expected


def test_refusal_of_a_number_beyond_the_type_tells_the_limit() -> None:
    with pytest.raises(InvalidConfig, match="at most 2147483647"):
        an_option(Kind.INT, minimum=0).parse("2147483648")


def test_refusal_hides_a_sensitive_text() -> None:
    with pytest.raises(InvalidConfig) as refused:
        an_option(Kind.PASSWORD, sensitive=True, choices=("x",)).parse("hunter2")
    assert "hunter2" not in refused.value.message


def test_refusal_shortens_a_long_text() -> None:
    with pytest.raises(InvalidConfig) as refused:
        an_option(Kind.BOOLEAN).parse("y" * 10_000)
    assert len(refused.value.message) < 400


def test_parse_takes_the_one_value_outside_of_the_range() -> None:
    option = an_option(Kind.INT, minimum=1, maximum=9, also_allowed=-1)
    assert option.parse("-1") == -1
    with pytest.raises(InvalidConfig, match="from 1 to 9, or -1"):
        option.parse("0")


def test_choices_bind_texts_lists_and_booleans() -> None:
    assert an_option(Kind.LIST, choices=("a", "b")).parse("b") == ("b",)
    with pytest.raises(InvalidConfig, match="list of a, b"):
        an_option(Kind.LIST, choices=("a", "b")).parse("c")
    with pytest.raises(InvalidConfig, match="one of a, b"):
        an_option(Kind.STRING, choices=("a", "b")).parse("A")
    with pytest.raises(InvalidConfig, match="expected false"):
        an_option(Kind.BOOLEAN, choices=("false",)).parse("true")


def test_unordered_list_becomes_a_set_and_keeps_its_spelling() -> None:
    option = an_option(Kind.LIST, unordered=True)
    assert option.parse("b, a") == frozenset({"a", "b"})
    assert option.normalise(" b , a ") == "b,a"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (None, ""),
        (("b", "a"), "b,a"),
        (frozenset({"b", "a"}), "a,b"),
        (0.5, "0.5"),
        (100.0, "100.0"),
        (1e18, "1.0E18"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_render_spells_values_as_kafka_does(value: object, text: str) -> None:
    assert render(value) == text  # type: ignore[arg-type]


@given(st.integers(-LONG_MAX - 1, LONG_MAX))
def test_whole_numbers_survive_rendering(value: int) -> None:
    assert an_option(Kind.LONG).parse(render(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_survive_rendering(value: float) -> None:
    assert an_option(Kind.DOUBLE).parse(render(value)) == value


@given(st.text(max_size=50))
def test_parse_returns_or_refuses_by_name_whatever_the_text(text: str) -> None:
    for kind in Kind:
        assert _parse_or_refusal(an_option(kind), text) is not None


def _parse_or_refusal(option: Option, text: str) -> object:
    try:
        return option.parse(text)
    except InvalidConfig as error:
        return error.message if error.message.startswith("some.name=") else None


@given(st.lists(st.text("abc", min_size=1), unique=True))
def test_split_list_undoes_a_join(items: list[str]) -> None:
    assert split_list(",".join(items)) == tuple(items)
