"""Where to listen: one URL per front door, ``kafka://127.0.0.1:9092?advertise=HOST:PORT``.

The scheme names the front door and how it is secured: ``kafka`` is plain, ``kafka+ssl`` encrypts,
``kafka+sasl`` asks for a log-in, ``kafka+sasl_ssl`` does both. Port 0 takes a free port, and
``advertise`` is the address that clients are told to use. An address that others can reach, where
nobody has to prove who he is, is refused unless the operator says that this is wanted.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, parse_qs, urlsplit

from headrace.config.broker_security import BASIC, OAUTHBEARER, SecuritySettings, parse_users
from headrace.config.listener_options import LISTENER_NAME, ListenerSettings
from headrace.config.names import maybe_nearest
from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PORTS = {
    "kafka": 9092,
    "kafka+ssl": 9093,
    "kafka+sasl": 9094,
    "kafka+sasl_ssl": 9095,
    "http": 8080,
}
DEFAULT_NAMES = {
    "kafka": "plaintext",
    "kafka+ssl": "ssl",
    "kafka+sasl": "sasl_plaintext",
    "kafka+sasl_ssl": "sasl_ssl",
    "http": "http",
}
"""As Kafka calls a listener that is given none: after its security protocol."""
PORT_MAX = 65_535
LISTENERS_MAX = 64
_URL_LENGTH_MAX = 1_000
_PARAMETERS = "the parameters of a listener are ?advertise=HOST:PORT and name=NAME"


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
    given_name: str | None = None
    security: SecuritySettings = field(default=SecuritySettings(), repr=False)

    def advertised(self, bound_port: int) -> tuple[str, int]:
        """What clients are told; ``bound_port`` is the real port, also where 0 was asked for."""
        return self.advertised_host or self.host, self.advertised_port or bound_port

    def url(self, bound_port: int | None = None) -> str:
        """Where it listens, as a URL."""
        port = self.port if bound_port is None else bound_port
        return f"{self.scheme}://{format_host(self.host)}:{port}"

    @property
    def name(self) -> str:
        """What its settings are called after."""
        return self.given_name or DEFAULT_NAMES[self.scheme]

    @property
    def door(self) -> str:
        """Which front door it is, however it is secured."""
        return self.scheme.partition("+")[0]

    @property
    def uses_tls(self) -> bool:
        return self.scheme in ("kafka+ssl", "kafka+sasl_ssl")

    @property
    def uses_sasl(self) -> bool:
        return self.scheme in ("kafka+sasl", "kafka+sasl_ssl")

    @property
    def uses_basic(self) -> bool:
        return self.scheme == "http" and self.security.http_authentication_method == BASIC

    @property
    def has_authentication(self) -> bool:
        """Whether nobody comes in without a proof of who he is."""
        return (
            self.uses_sasl
            or self.uses_basic
            or (self.uses_tls and self.security.ssl_client_auth == "required")
        )

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        address = _maybe_address(self.host)
        return address is not None and address.is_loopback


def parse_listeners(
    urls: Sequence[str], *, allow_remote: bool, settings: ListenerSettings | None = None
) -> tuple[Listener, ...]:
    """All listeners; InvalidConfig for a bad URL, an address twice, one that is too public, or
    security that is asked for and not set up."""
    if not urls:
        raise InvalidConfig("no listener is given: pass --listen kafka://127.0.0.1:9092")
    if len(urls) > LISTENERS_MAX:
        raise InvalidConfig(f"{len(urls)} listeners are given, the limit is {LISTENERS_MAX}")
    settings = settings or ListenerSettings()
    parsed = [parse_listener(url) for url in urls]
    listeners = tuple(replace(each, security=settings.of(each.name)) for each in parsed)
    settings.raise_if_for_nobody(listener.name for listener in listeners)
    taken: set[tuple[str, int]] = set()
    for listener in listeners:
        _raise_if_not_set_up(listener)
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
    # Not by urlsplit: Kafka's SASL_SSL has an underscore, which is not for schemes.
    scheme, separator, rest = url.partition("://")
    _raise_if_unknown_scheme(url, scheme if separator else "")
    try:
        parts = urlsplit(f"//{rest}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidConfig(f"{url}: {error}; expected kafka://127.0.0.1:9092") from None
    if not host or parts.path not in ("", "/") or parts.username is not None or parts.fragment:
        raise InvalidConfig(f"{url}: expected {scheme}://HOST:PORT")
    parameters = _parse_query(url, parts.query)
    advertised = (
        _parse_advertised(url, parameters["advertise"]) if "advertise" in parameters else None
    )
    listener = Listener(
        scheme,
        host,
        DEFAULT_PORTS[scheme] if port is None else port,
        advertised.hostname if advertised else None,
        (advertised.port or None) if advertised else None,
        given_name=parameters.get("name"),
    )
    _raise_if_nothing_to_advertise(url, listener)
    return listener


def format_host(host: str) -> str:
    """IPv6 addresses stand in brackets before a port."""
    return f"[{host}]" if ":" in host else host


def _parse_query(url: str, query: str) -> dict[str, str]:
    if not query:
        return {}
    fields = parse_qs(query, keep_blank_values=True, max_num_fields=10)
    if not set(fields) <= {"advertise", "name"} or any(len(each) > 1 for each in fields.values()):
        raise InvalidConfig(f"{url}: {_PARAMETERS}")
    parameters = {key: values[0] for key, values in fields.items()}
    if "name" in parameters and not LISTENER_NAME.fullmatch(parameters["name"]):
        raise InvalidConfig(f"{url}: the name of a listener has a-z, 0-9, _ and -")
    return parameters


def _parse_advertised(url: str, text: str) -> SplitResult:
    try:
        parts = urlsplit("//" + text)
        is_address = bool(parts.hostname) and not parts.path and (parts.port or True)
    except ValueError as error:
        raise InvalidConfig(f"{url}: {error} in ?advertise=HOST:PORT") from None
    if not is_address:
        raise InvalidConfig(f"{url}: expected ?advertise=HOST:PORT")
    return parts


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


def _raise_if_not_set_up(listener: Listener) -> None:
    security = listener.security
    if listener.uses_tls and security.ssl_keystore_location is None:
        raise InvalidConfig(
            f"{listener.url()} needs a certificate: set ssl.keystore.location to a PEM file; "
            "to try it out: headrace tls self-signed DIRECTORY"
        )
    if listener.uses_sasl or listener.uses_basic:
        parse_users(security.sasl_users)
    if not listener.uses_sasl:
        return
    mechanisms = security.sasl_enabled_mechanisms
    if not mechanisms:
        raise InvalidConfig(f"{listener.url()} needs a way to log in: set sasl.enabled.mechanisms")
    if OAUTHBEARER in mechanisms and security.sasl_oauthbearer_jwks_endpoint_url is None:
        raise InvalidConfig(
            f"{listener.url()}: {OAUTHBEARER} needs sasl.oauthbearer.jwks.endpoint.url, "
            "file:/PATH or https://HOST/PATH"
        )


def _raise_if_remote(listener: Listener) -> None:
    if listener.is_loopback or listener.has_authentication:
        return
    remedy = "listen on 127.0.0.1, or pass --allow-remote if the network is trusted"
    if listener.door == "http":
        remedy = "set headrace.http.authentication.method=BASIC; or " + remedy
    else:
        remedy = (
            "use kafka+sasl_ssl://, or kafka+ssl:// with ssl.client.auth=required; or " + remedy
        )
    raise InvalidConfig(
        f"{listener.url()} can be reached from other machines, and there is no authentication "
        f"on it: {remedy}"
    )


def _maybe_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
