"""Patterns for services that keep a database and a log in step. See ``docs/patterns.md``.

Needs the extra ``headrace[patterns]``: SQLAlchemy and confluent-kafka. Works with any Kafka broker
and imports nothing of Headrace but its tree of errors.
"""

from __future__ import annotations

try:
    import confluent_kafka  # noqa: F401
    import sqlalchemy  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"headrace.patterns needs {error.name}; install it with: pip install 'headrace[patterns]'",
        name=error.name,
    ) from error

from headrace.patterns.consumer_loop import ConsumerLoop
from headrace.patterns.deliveries import Deliveries, Delivery
from headrace.patterns.message_id import MESSAGE_ID_HEADER, message_id
from headrace.patterns.outbox import Outbox
from headrace.patterns.outcome import Outcome
from headrace.patterns.record_and_check import RecordAndCheck
from headrace.patterns.relay import Relay
from headrace.patterns.state_machine import StateMachine
from headrace.patterns.unique_key import UniqueKey
from headrace.patterns.version import Version

__all__ = [
    "ConsumerLoop",
    "Deliveries",
    "Delivery",
    "MESSAGE_ID_HEADER",
    "Outbox",
    "Outcome",
    "RecordAndCheck",
    "Relay",
    "StateMachine",
    "UniqueKey",
    "Version",
    "message_id",
]
