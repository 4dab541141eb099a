"""What all clients of a run have in common: settings, and the stamp of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.testing.history import Stamp, stamp_of

if TYPE_CHECKING:
    from confluent_kafka import Message

ANSWER_SECONDS_MAX = 20.0
JOIN_SECONDS_MAX = 60.0
TOMBSTONE_HEADER = "stamp"


class ClientStuck(AssertionError):
    """A client did not come to its end although the broker is there."""


def client_settings(bootstrap_servers: str, **more: Any) -> dict[str, Any]:
    """Settings of librdkafka, underscores for dots; it looks for a killed broker all the time."""
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 50,
        "log_level": 0,
    }
    return settings | {name.replace("_", "."): value for name, value in more.items()}


def message_stamp(message: Message) -> Stamp | None:
    """None if the content is not what was sent."""
    value, key = message.value(), message.key()
    if value is None:
        headers: Any = message.headers() or []
        value = dict(headers).get(TOMBSTONE_HEADER, b"")
    return stamp_of(as_bytes(value) or b"", as_bytes(key))


def as_bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
