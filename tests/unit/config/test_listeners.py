"""Listener URLs: what they mean, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.config.listener_options import ListenerSettings
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
        ("kafka+sasl_ssl://h", Listener("kafka+sasl_ssl", "h", 9095)),
        ("kafka+ssl://h:1?name=x-1", Listener("kafka+ssl", "h", 1, given_name="x-1")),
    ],
)
def test_url_is_understood(url: str, listener: Listener) -> None:
    assert parse_listener(url) == listener


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("127.0.0.1:9092", r"scheme of a listener is one of kafka://, kafka\+ssl://"),
        ("kafka+sals_ssl://h:1", r"did you mean kafka\+sasl_ssl://"),
        ("kafka://h:1?name=A.B", "the name of a listener"),
        ("kafka://h:1?advertise=a:1&advertise=b:1", "parameters of a listener"),
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


BASIC = {"headrace.http.authentication.method": "BASIC"}
CERTIFICATE = {"ssl.keystore.location": "server.pem"}
CLIENT_CERTIFICATES = {
    **CERTIFICATE,
    "ssl.truststore.location": "ca.pem",
    "ssl.client.auth": "required",
}


@pytest.mark.parametrize(
    ("scheme", "uses_tls", "uses_sasl", "name"),
    [
        ("kafka", False, False, "plaintext"),
        ("kafka+ssl", True, False, "ssl"),
        ("kafka+sasl", False, True, "sasl_plaintext"),
        ("kafka+sasl_ssl", True, True, "sasl_ssl"),
        ("http", False, False, "http"),
    ],
)
def test_scheme_says_how_it_is_secured(
    scheme: str, uses_tls: bool, uses_sasl: bool, name: str
) -> None:
    listener = parse_listener(f"{scheme}://127.0.0.1")
    assert (listener.uses_tls, listener.uses_sasl, listener.name) == (uses_tls, uses_sasl, name)
    assert listener.door in ("kafka", "http")


@pytest.mark.parametrize(
    ("url", "settings", "is_allowed"),
    [
        ("kafka+sasl://10.0.0.1", {}, True),
        ("kafka+sasl_ssl://10.0.0.1", CERTIFICATE, True),
        ("kafka+ssl://10.0.0.1", CERTIFICATE, False),
        ("kafka+ssl://10.0.0.1", {**CERTIFICATE, "ssl.client.auth": "requested"}, False),
        ("kafka+ssl://10.0.0.1", CLIENT_CERTIFICATES, True),
        ("http://10.0.0.1", {}, False),
        ("http://10.0.0.1", {"headrace.http.authentication.method": "NONE"}, False),
        ("http://10.0.0.1", BASIC, True),
        ("http://10.0.0.1", {"listener.name.http.http.authentication.method": "BASIC"}, True),
        ("kafka://10.0.0.1", BASIC, False),
    ],
)
def test_reachable_address_is_allowed_where_everybody_proves_who_he_is(
    url: str, settings: dict[str, str], is_allowed: bool
) -> None:
    given_settings = ListenerSettings(settings)
    if is_allowed:
        (listener,) = parse_listeners([url], allow_remote=False, settings=given_settings)
        assert listener.has_authentication
    else:
        with pytest.raises(InvalidConfig, match=r"no authentication.*--allow-remote"):
            parse_listeners([url], allow_remote=False, settings=given_settings)


@pytest.mark.parametrize(
    ("url", "settings", "message"),
    [
        ("kafka+ssl://127.0.0.1", {}, "ssl.keystore.location"),
        ("kafka+sasl://127.0.0.1", {"sasl.enabled.mechanisms": ""}, "sasl.enabled.mechanisms"),
        ("kafka+sasl://127.0.0.1", {"sasl.enabled.mechanisms": "OAUTHBEARER"}, "jwks.endpoint"),
        ("kafka+sasl://127.0.0.1", {"headrace.sasl.users": "alice"}, "NAME:PASSWORD"),
        ("http://127.0.0.1", {**BASIC, "headrace.sasl.users": "alice"}, "NAME:PASSWORD"),
    ],
)
def test_security_that_is_not_set_up_is_refused(
    url: str, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidConfig, match=message):
        parse_listeners([url], allow_remote=False, settings=ListenerSettings(settings))
