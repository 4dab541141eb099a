"""Records as lines: what ``produce`` reads and ``consume`` prints.

A JSON line that ``consume --json`` prints can be fed to ``produce --input json`` and makes the same
record again. Bytes that are not UTF-8 stand under ``value_base64`` and the like.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, NamedTuple

from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.times import format_time_ms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LINE_BYTES_MAX = 64 * 2**20
_BASE64 = "_base64"
_KNOWN_FIELDS = {"key", "value", "headers", "partition", "timestamp_ms"}
_IGNORED_FIELDS = {"topic", "offset", "timestamp"}
"""Printed for people; where a record goes is for the new broker to say."""


class OutgoingRecord(NamedTuple):
    """One record to send; -1 leaves the partition to the client, None the time to the clock."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = -1
    timestamp_ms: int | None = None


def parse_text_line(line: bytes, key_separator: str | None) -> OutgoingRecord:
    """A line is a value, or key, separator, value."""
    text = line.removesuffix(b"\n").removesuffix(b"\r")
    if key_separator is None:
        return OutgoingRecord(None, text)
    key, separator, value = text.partition(key_separator.encode())
    if not separator:
        raise Failure(f"a line has no {key_separator!r} between key and value", ExitCode.USAGE)
    return OutgoingRecord(key, value)


def parse_json_line(line: bytes, number: int) -> OutgoingRecord:
    """One object: key, value, headers, partition, timestamp_ms; a JSON value is stored as JSON."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _bad_line(number, f"not JSON: {error}") from error
    if not isinstance(document, dict):
        raise _bad_line(number, 'expected an object such as {"key": "a", "value": "b"}')
    names = {name.removesuffix(_BASE64) for name in document}
    unknown = names - _KNOWN_FIELDS - _IGNORED_FIELDS
    if unknown:
        raise _bad_line(number, f"unknown field {min(unknown)!r}")
    partition = _maybe_number(document, "partition", number)
    return OutgoingRecord(
        _bytes_of(document, "key", number),
        _bytes_of(document, "value", number),
        _headers_of(document, number),
        -1 if partition is None else partition,
        _maybe_number(document, "timestamp_ms", number),
    )


def json_line(
    *,
    topic: str,
    partition: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
) -> str:
    """One record as one line."""
    fields: dict[str, object] = {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "timestamp_ms": timestamp_ms,
        "timestamp": format_time_ms(timestamp_ms),
        **bytes_field("key", key),
        **bytes_field("value", value),
        "headers": header_fields(headers),
    }
    return json.dumps(fields, ensure_ascii=False)


def text_line(
    *,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
    with_key: bool,
    with_headers: bool,
) -> bytes:
    """The value as it is, on request behind headers and key."""
    parts: list[bytes] = []
    if with_headers:
        parts.append(
            b",".join(name.encode() + b"=" + (content or b"") for name, content in headers)
        )
    if with_key:
        parts.append(key or b"")
    parts.append(value or b"")
    return b"\t".join(parts) + b"\n"


def header_fields(headers: Sequence[tuple[str, bytes | None]]) -> list[dict[str, str | None]]:
    """A list, since names may repeat and order counts."""
    return [{"name": name, **bytes_field("value", content)} for name, content in headers]


def bytes_field(name: str, content: bytes | None) -> dict[str, str | None]:
    """Text under its name, other bytes under ``NAME_base64``."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        return {name + _BASE64: base64.b64encode(content).decode()}


def _bytes_of(document: Mapping[str, object], name: str, number: int) -> bytes | None:
    encoded = document.get(name + _BASE64)
    if encoded is not None:
        try:
            return base64.b64decode(str(encoded), validate=True)
        except binascii.Error as error:
            raise _bad_line(number, f"{name}{_BASE64} is not base64") from error
    plain = document.get(name)
    if plain is None:
        return None
    if isinstance(plain, str):
        return plain.encode("utf-8", "surrogatepass")
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


def _headers_of(
    document: Mapping[str, object], number: int
) -> tuple[tuple[str, bytes | None], ...]:
    headers = document.get("headers") or []
    if isinstance(headers, dict):
        headers = [{"name": name, "value": value} for name, value in headers.items()]
    if not isinstance(headers, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) for each in headers
    ):
        raise _bad_line(number, 'headers: expected {"name": "value"} or [{"name":, "value":}]')
    return tuple((each["name"], _bytes_of(each, "value", number)) for each in headers)


def _maybe_number(document: Mapping[str, object], name: str, number: int) -> int | None:
    value = document.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise _bad_line(number, f"{name}: expected a whole number")
    return value


def _bad_line(number: int, reason: str) -> Failure:
    return Failure(f"line {number}: {reason}", ExitCode.USAGE)
