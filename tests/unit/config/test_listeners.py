"""Listener URLs: what they mean, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.listeners import LISTENERS_MAX, Listener, parse_listener, parse_listeners
from headrace.model.errors import InvalidConfig


@pytest.mark.parametrize(
    ("url", "listener"),
    [
        ("kafka://127.0.0.1:9092", Listener("kafka", "127.0.0.1", 9092)),
        ("kafka://127.0.0.1", Listener("kafka", "127.0.0.1", 9092)),
        ("http://localhost/", Listener("http", "localhost", 8080)),
        ("kafka://[::1]:0", Listener("kafka", "::1", 0)),
        ("kafka://h:1?advertise=b.org:2", Listener("kafka", "h", 1, "b.org", 2)),
        ("kafka://0.0.0.0:1?advertise=b.org", Listener("kafka", "0.0.0.0", 1, "b.org")),
    ],
)
def test_url_is_understood(url: str, listener: Listener) -> None:
    assert parse_listener(url) == listener


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:9092", "scheme of a listener is one of kafka://, http://"),
        ("kafkas://127.0.0.1:9092", "did you mean kafka://"),
        ("kafka://", "expected kafka://HOST:PORT"),
        ("kafka://h:99999", "Port out of range"),
        ("kafka://h:x", "Port could not be cast"),
        ("kafka://[::1", "Invalid IPv6 URL"),
        ("kafka://h:1/path", "expected kafka://HOST:PORT"),
        ("kafka://user@h:1", "expected kafka://HOST:PORT"),
        ("kafka://h:1?colour=red", r"\?advertise=HOST:PORT"),
        ("kafka://h:1?advertise=", r"\?advertise=HOST:PORT"),
        ("kafka://h:1?advertise=b:x", "Port could not be cast"),
        ("kafka://0.0.0.0:9092", "clients cannot connect to 0.0.0.0"),
        ("kafka://" + "h" * 2000, "longer than"),
    ],
)
def test_bad_url_is_refused_with_what_to_write(url: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        parse_listener(url)


@pytest.mark.parametrize("host", ["10.0.0.1", "example.org", "[2001:db8::1]"])
def test_reachable_address_needs_consent(host: str) -> None:
    url = f"kafka://{host}:9092"
    with pytest.raises(InvalidConfig, match="--allow-remote"):
        parse_listeners([url], allow_remote=False)
    assert len(parse_listeners([url], allow_remote=True)) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "[::1]"])
def test_loopback_needs_no_consent(host: str) -> None:
    assert parse_listeners([f"kafka://{host}:9092"], allow_remote=False)[0].is_loopback


def test_address_twice_is_refused_but_free_ports_may_repeat() -> None:
    with pytest.raises(InvalidConfig, match="given twice"):
        parse_listeners(["kafka://127.0.0.1:1", "http://127.0.0.1:1"], allow_remote=False)
    assert len(parse_listeners(["kafka://127.0.0.1:0"] * 2, allow_remote=False)) == 2


def test_number_of_listeners_is_limited_both_ways() -> None:
    with pytest.raises(InvalidConfig, match="no listener"):
        parse_listeners([], allow_remote=False)
    with pytest.raises(InvalidConfig, match="limit"):
        parse_listeners(["kafka://127.0.0.1:0"] * (LISTENERS_MAX + 1), allow_remote=False)


def test_advertised_address_falls_back_to_where_it_listens() -> None:
    assert Listener("kafka", "127.0.0.1", 0).advertised(4711) == ("127.0.0.1", 4711)
    assert Listener("kafka", "127.0.0.1", 0, "b.org").advertised(4711) == ("b.org", 4711)
    assert Listener("kafka", "127.0.0.1", 0, "b.org", 5).advertised(4711) == ("b.org", 5)


def test_url_shows_the_bound_port_and_brackets() -> None:
    assert Listener("kafka", "::1", 0).url(4711) == "kafka://[::1]:4711"
    assert Listener("http", "localhost", 80).url() == "http://localhost:80"


@given(st.text(max_size=60))
def test_any_text_is_a_listener_or_a_named_refusal(text: str) -> None:
    try:
        listener = parse_listener("kafka://" + text)
    except InvalidConfig:
        return
    assert 0 <= listener.port <= 65_535
