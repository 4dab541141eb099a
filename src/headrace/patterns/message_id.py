"""The identity of a message: what stays the same when it is delivered again.

Messages of an outbox carry it in a header. Any other message is known by its place in the log,
which survives a redelivery but not a second send by its producer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import Message

MESSAGE_ID_HEADER = "headrace-message-id"


def header_message_id(message: Message) -> str | None:
    """The id that the outbox gave, if any."""
    headers: list[tuple[str, bytes | None]] = message.headers() or []  # type: ignore[assignment]
    for name, value in headers:
        if name == MESSAGE_ID_HEADER and value is not None:
            return value.decode("utf-8", errors="replace")
    return None


def message_id(message: Message) -> str:
    """The id of any message."""
    given = header_message_id(message)
    return given or f"{message.topic()}/{message.partition()}/{message.offset()}"
