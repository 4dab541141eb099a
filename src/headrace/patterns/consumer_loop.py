"""Reads messages, handles each in one database transaction, and commits offsets afterwards.

The order is the point: first the database, then the offset. A crash in between delivers the
message again, and the idempotent handler sees that it was applied. The other order would lose it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException
from sqlalchemy.orm import Session

from headrace.model.errors import InvalidConfig

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from confluent_kafka import Message
    from sqlalchemy import Engine

POLL_SECONDS = 0.2

log = logging.getLogger(__name__)


class ConsumerLoop:
    """Runs ``handler(session, message)`` for every message of ``topics``.

    The handler must not commit. What it raises ends the loop with nothing of the message stored
    and its offset not committed: the message comes again after the next start.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        topics: Sequence[str],
        engine: Engine,
        handler: Callable[[Session, Message], object],
    ) -> None:
        if not config.get("group.id"):
            raise InvalidConfig("ConsumerLoop needs a 'group.id': offsets are kept per group")
        self._config = {
            "auto.offset.reset": "earliest",
            **config,
            # Offsets are stored after the database has committed, never before.
            "enable.auto.commit": True,
            "enable.auto.offset.store": False,
        }
        self._topics = list(topics)
        self._engine = engine
        self._handler = handler

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop`` is set, then commit the offsets and leave the group."""
        consumer = Consumer(self._config)
        try:
            consumer.subscribe(self._topics)
            while not stop.is_set():
                message = consumer.poll(POLL_SECONDS)
                if message is not None:
                    self._handle(consumer, message)
        finally:
            consumer.close()

    def _handle(self, consumer: Consumer, message: Message) -> None:
        error = message.error()
        if error is not None:
            # A client that is beyond help says so by this code, without the mark of fatal errors.
            if error.fatal() or error.code() == KafkaError._FATAL:
                raise KafkaException(error)
            log.warning("the consumer reports %s; the client library tries again", error)
            return
        with Session(self._engine) as session, session.begin():
            self._handler(session, message)
        self._store_offset(consumer, message)

    def _store_offset(self, consumer: Consumer, message: Message) -> None:
        try:
            consumer.store_offsets(message=message)
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError._STATE:
                raise
            # The partition was given to another member meanwhile: it gets the message again.
            log.info("offset not stored, the partition was revoked: %s", failure)
