"""Where to listen: one URL per front door, ``kafka://127.0.0.1:9092?advertise=HOST:PORT``.

The scheme names the front door, port 0 takes a free port, and ``advertise`` is the address that
clients are told to use. There is no authentication yet, so an address that others can reach is
refused unless the operator says that this is wanted.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from headrace.config.names import maybe_nearest
from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PORTS = {"kafka": 9092, "http": 8080}
PORT_MAX = 65_535
LISTENERS_MAX = 64
_URL_LENGTH_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Listener:
    """One address to listen on, and the address that clients are told, where it differs."""

    scheme: str
    host: str
    port: int
    advertised_host: str | None = None
    advertised_port: int | None = None
    is_optional: bool = False
    """Whether the broker also starts without it, if the address is taken."""

    def advertised(self, bound_port: int) -> tuple[str, int]:
        """What clients are told; ``bound_port`` is the real port, also where 0 was asked for."""
        return self.advertised_host or self.host, self.advertised_port or bound_port

    def url(self, bound_port: int | None = None) -> str:
        """Where it listens, as a URL."""
        port = self.port if bound_port is None else bound_port
        return f"{self.scheme}://{format_host(self.host)}:{port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        address = _maybe_address(self.host)
        return address is not None and address.is_loopback


def parse_listeners(urls: Sequence[str], *, allow_remote: bool) -> tuple[Listener, ...]:
    """All listeners; InvalidConfig for a bad URL, an address twice, or one that is too public."""
    if not urls:
        raise InvalidConfig("no listener is given: pass --listen kafka://127.0.0.1:9092")
    if len(urls) > LISTENERS_MAX:
        raise InvalidConfig(f"{len(urls)} listeners are given, the limit is {LISTENERS_MAX}")
    listeners = tuple(parse_listener(url) for url in urls)
    taken: set[tuple[str, int]] = set()
    for listener in listeners:
        if not allow_remote:
            _raise_if_remote(listener)
        address = (listener.host, listener.port)
        if listener.port and address in taken:
            raise InvalidConfig(f"{listener.url()}: this address is given twice")
        taken.add(address)
    return listeners


def parse_listener(url: str) -> Listener:
    """One listener URL; an absent port is the scheme's usual one."""
    if len(url) > _URL_LENGTH_MAX:
        raise InvalidConfig(f"a listener URL is longer than {_URL_LENGTH_MAX} characters")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidConfig(f"{url}: {error}; expected kafka://127.0.0.1:9092") from None
    _raise_if_unknown_scheme(url, parts.scheme)
    if not host or parts.path not in ("", "/") or parts.username is not None or parts.fragment:
        raise InvalidConfig(f"{url}: expected {parts.scheme}://HOST:PORT")
    advertised_host, advertised_port = _parse_query(url, parts.query)
    listener = Listener(
        parts.scheme,
        host,
        DEFAULT_PORTS[parts.scheme] if port is None else port,
        advertised_host,
        advertised_port,
    )
    _raise_if_nothing_to_advertise(url, listener)
    return listener


def format_host(host: str) -> str:
    """IPv6 addresses stand in brackets before a port."""
    return f"[{host}]" if ":" in host else host


def _parse_query(url: str, query: str) -> tuple[str | None, int | None]:
    if not query:
        return None, None
    fields = parse_qs(query, keep_blank_values=True, max_num_fields=10)
    if set(fields) != {"advertise"} or len(fields["advertise"]) != 1:
        raise InvalidConfig(f"{url}: the only parameter of a listener is ?advertise=HOST:PORT")
    try:
        parts = urlsplit("//" + fields["advertise"][0])
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidConfig(f"{url}: {error} in ?advertise=HOST:PORT") from None
    if not host or parts.path:
        raise InvalidConfig(f"{url}: expected ?advertise=HOST:PORT")
    return host, port or None


def _raise_if_unknown_scheme(url: str, scheme: str) -> None:
    if scheme in DEFAULT_PORTS:
        return
    nearest = maybe_nearest(scheme, DEFAULT_PORTS)
    hint = f"; did you mean {nearest}://?" if nearest else ""
    known = ", ".join(f"{name}://" for name in DEFAULT_PORTS)
    raise InvalidConfig(f"{url}: the scheme of a listener is one of {known}{hint}")


def _raise_if_nothing_to_advertise(url: str, listener: Listener) -> None:
    address = _maybe_address(listener.host)
    if address is not None and address.is_unspecified and listener.advertised_host is None:
        raise InvalidConfig(
            f"{url}: clients cannot connect to {listener.host}; say which address they should use: "
            f"{listener.url()}?advertise=HOST:PORT"
        )


def _raise_if_remote(listener: Listener) -> None:
    if not listener.is_loopback:
        raise InvalidConfig(
            f"{listener.url()} can be reached from other machines, and there is no authentication "
            "yet: listen on 127.0.0.1, or pass --allow-remote if the network is trusted"
        )


def _maybe_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
