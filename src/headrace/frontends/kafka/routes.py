"""Which handler answers which request: one table, looked up once per request.

The table is filled when a key and version are first asked for, so a broker that never sees an API
never loads its codec.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.codecs.kafka import messages
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.frontends.kafka.throttling import metered

if TYPE_CHECKING:
    from collections.abc import Callable


class Route(NamedTuple):
    """Everything needed to answer one version of one API."""

    api_key: int
    version: int
    name: str
    header_is_flexible: bool
    answer_header_is_flexible: bool
    decode: Callable[[Any, int], tuple[Any, int]]
    encode: Callable[[Any, list[Any]], None]
    handle: Callable[[Any, Any], Any]


_routes: dict[int, Route] = {}


def route_of(api_key: int, version: int) -> Route | None:
    """The route, or None if we do not serve this."""
    return _routes.get(api_key << 16 | version) or _load(api_key, version)


def _load(api_key: int, version: int) -> Route | None:
    handler = HANDLERS.get(api_key)
    if handler is None or not handler.version_min <= version <= handler.version_max:
        return None
    module = importlib.import_module(handler.module)
    route = Route(
        api_key,
        version,
        messages.API_NAMES[api_key],
        messages.request_header_is_flexible(api_key, version),
        messages.response_header_is_flexible(api_key, version),
        messages.request_decoder(api_key, version),
        messages.response_encoder(api_key, version),
        metered(api_key, module.handle),
    )
    _routes[api_key << 16 | version] = route
    return route
