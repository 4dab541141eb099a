"""Finds the codec of an API and version, importing the generated module when first needed.

The server needs `request_decoder` and `response_encoder`; the other two serve whoever speaks to
a broker: tests, brokers among themselves, mirrors.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

from headrace.codecs.kafka.errors import UnsupportedMessage
from headrace.codecs.kafka.generated.index import APIS
from headrace.codecs.kafka.headers import request_header_is_flexible, response_header_is_flexible
from headrace.codecs.kafka.wire import Buffer, Chunk

__all__ = [
    "API_KEYS",
    "API_NAMES",
    "UNSTABLE_VERSIONS",
    "VALID_VERSIONS",
    "Decoder",
    "Encoder",
    "request_decoder",
    "request_encoder",
    "request_header_is_flexible",
    "response_decoder",
    "response_encoder",
    "response_header_is_flexible",
]

# A decoder gives exactly the message class of its API; which one is known only to the caller.
Decoder: TypeAlias = Callable[[Buffer, int], tuple[Any, int]]
Encoder: TypeAlias = Callable[[Any, list[Chunk]], None]

API_NAMES: dict[int, str] = {key: name for key, (name, *_) in APIS.items()}
API_KEYS: dict[str, int] = {name: key for key, name in API_NAMES.items()}
VALID_VERSIONS: dict[int, tuple[int, int]] = {
    key: (first, last) for key, (_, first, last, _, _) in APIS.items()
}
"""First and last version that there is a codec for."""
UNSTABLE_VERSIONS: frozenset[tuple[int, int]] = frozenset({(22, 6)})
"""(key, version) pairs that Kafka marks as unstable: a broker must not advertise them."""

_GENERATED = "headrace.codecs.kafka.generated"
_request_decoders: dict[int, dict[int, Decoder]] = {}
_response_encoders: dict[int, dict[int, Encoder]] = {}


def request_decoder(api_key: int, version: int) -> Decoder:
    """The function that turns a request body into a message."""
    try:
        return _request_decoders[api_key][version]
    except KeyError:
        _load(api_key, version)
    return _request_decoders[api_key][version]


def response_encoder(api_key: int, version: int) -> Encoder:
    """The function that appends the chunks of a response body to a list."""
    try:
        return _response_encoders[api_key][version]
    except KeyError:
        _load(api_key, version)
    return _response_encoders[api_key][version]


def request_encoder(api_key: int, version: int) -> Encoder:
    """The client's side of `request_decoder`."""
    raise_if_unsupported(api_key, version)
    module = import_module(f"{_GENERATED}.client.{API_NAMES[api_key]}")
    encoder: Encoder = module.ENCODE_REQUEST[version]
    return encoder


def response_decoder(api_key: int, version: int) -> Decoder:
    """The client's side of `response_encoder`."""
    raise_if_unsupported(api_key, version)
    module = import_module(f"{_GENERATED}.client.{API_NAMES[api_key]}")
    decoder: Decoder = module.DECODE_RESPONSE[version]
    return decoder


def raise_if_unsupported(api_key: int, version: int) -> None:
    if api_key not in VALID_VERSIONS:
        raise UnsupportedMessage(f"there is no API with key {api_key}")
    first, last = VALID_VERSIONS[api_key]
    if not first <= version <= last:
        raise UnsupportedMessage(
            f"{API_NAMES[api_key]} has versions {first} to {last}, not {version}"
        )


def _load(api_key: int, version: int) -> None:
    raise_if_unsupported(api_key, version)
    module = import_module(f"{_GENERATED}.{API_NAMES[api_key]}")
    _request_decoders[api_key] = module.DECODE_REQUEST
    _response_encoders[api_key] = module.ENCODE_RESPONSE
