"""Request and response headers, and the size that precedes each frame.

The first four fields of a request header never changed, so they can be read before anything is
known about the request. Two rules are easy to get wrong: the client id is a *legacy* string even
in the flexible header v2, and the response to ApiVersions always has header v0 (KIP-511).
"""

from __future__ import annotations

from struct import Struct

from headrace.codecs.kafka.errors import MalformedMessage
from headrace.codecs.kafka.generated.index import APIS
from headrace.codecs.kafka.wire import DECODING_ERRORS, Buffer, skip_tagged_fields

NEVER_FLEXIBLE = 1 << 15
"""Above every possible version: versions are 16 bit."""

FIRST_FLEXIBLE_REQUEST: dict[int, int] = {
    key: NEVER_FLEXIBLE if request is None else request
    for key, (_, _, _, request, _) in APIS.items()
}
FIRST_FLEXIBLE_RESPONSE: dict[int, int] = {
    key: NEVER_FLEXIBLE if response is None else response
    for key, (_, _, _, _, response) in APIS.items()
}

_unpack_fields = Struct(">hhih").unpack_from
_unpack_correlation_id = Struct(">i").unpack_from
_pack_request = Struct(">hhih").pack
_pack_response = Struct(">i").pack
_pack_flexible_response = Struct(">ix").pack
_pack_frame = Struct(">ii").pack
_pack_flexible_frame = Struct(">iix").pack

RequestHeader = tuple[int, int, int, str | None, int]


def request_header_is_flexible(api_key: int, version: int) -> bool:
    """Whether the request header is v2; False for keys that are not known."""
    return version >= FIRST_FLEXIBLE_REQUEST.get(api_key, NEVER_FLEXIBLE)


def response_header_is_flexible(api_key: int, version: int) -> bool:
    """Whether the response header is v1; False for keys that are not known."""
    return version >= FIRST_FLEXIBLE_RESPONSE.get(api_key, NEVER_FLEXIBLE)


def decode_request_header(buffer: Buffer, position: int = 0) -> RequestHeader:
    """Gives api key, api version, correlation id, client id and the position of the body.

    Unknown keys and versions are read like any other: the caller answers or refuses them.
    """
    try:
        api_key, version, correlation_id, length = _unpack_fields(buffer, position)
        position += 10
        if length < 0:
            client_id = None
        else:
            end = position + length
            client_id = str(buffer[position:end], "utf-8")
            position = end
        if version >= FIRST_FLEXIBLE_REQUEST.get(api_key, NEVER_FLEXIBLE):
            tags = buffer[position]
            position += 1
            if tags:
                position = skip_tagged_fields(buffer, position, tags)
    except DECODING_ERRORS as cause:
        raise MalformedMessage(f"request header: {cause}") from cause
    if position > len(buffer):
        raise MalformedMessage("request header: it ends too early")
    return api_key, version, correlation_id, client_id, position


def encode_response_header(correlation_id: int, is_flexible: bool) -> bytes:
    return (
        _pack_flexible_response(correlation_id) if is_flexible else _pack_response(correlation_id)
    )


def encode_response_frame(correlation_id: int, is_flexible: bool, body_size: int) -> bytes:
    """The frame's size and the response header, ready to be sent before the body's chunks."""
    if is_flexible:
        return _pack_flexible_frame(body_size + 5, correlation_id)
    return _pack_frame(body_size + 4, correlation_id)


def encode_request_header(
    api_key: int, version: int, correlation_id: int, client_id: str | None
) -> bytes:
    raw = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(raw)
    tags = b"\x00" if request_header_is_flexible(api_key, version) else b""
    return b"%b%b%b" % (_pack_request(api_key, version, correlation_id, length), raw, tags)


def decode_response_header(buffer: Buffer, is_flexible: bool, position: int = 0) -> tuple[int, int]:
    """Gives the correlation id and the position of the body."""
    try:
        (correlation_id,) = _unpack_correlation_id(buffer, position)
        position += 4
        if is_flexible:
            position = skip_tagged_fields(buffer, position + 1, buffer[position])
    except DECODING_ERRORS as cause:
        raise MalformedMessage(f"response header: {cause}") from cause
    return correlation_id, position
