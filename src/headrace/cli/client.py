"""Talking to a broker through confluent-kafka, and what its errors mean on the command line.

The package is optional: without it the verbs that need a broker say how to install it. Each verb
asks the broker for its metadata first, so that an address where nobody answers is one plain line
and not a stream of log lines from the library.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from headrace.cli.assignments import parse_assignments
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.model.errors import PackageNotInstalled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient

_NOT_FOUND = {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "GROUP_ID_NOT_FOUND"}
_EXISTS = {"TOPIC_ALREADY_EXISTS"}
_UNREACHABLE = {"_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT"}
_USAGE = {
    "_INVALID_ARG",
    "INVALID_CONFIG",
    "INVALID_PARTITIONS",
    "INVALID_REQUEST",
    "TOPIC_EXCEPTION",
}

SOCKET_SETUP_TIMEOUT_MS = 5_000


class Broker:
    """The address of a broker, and how to make clients for it."""

    def __init__(self, bootstrap: str, settings: Sequence[str], timeout_seconds: float) -> None:
        self.bootstrap = bootstrap
        self.timeout_seconds = timeout_seconds
        self._settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "socket.connection.setup.timeout.ms": SOCKET_SETUP_TIMEOUT_MS,
            **parse_assignments(settings, "-X"),
        }

    def admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        return AdminClient(self._settings, logger=_quiet_logger())

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        from confluent_kafka import Producer

        return Producer({**self._settings, **settings}, logger=_quiet_logger())

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        from confluent_kafka import Consumer

        return Consumer({**self._settings, **settings}, logger=_quiet_logger())

    def metadata(self, client: Any, topic: str | None = None) -> Any:
        """What the broker knows; Failure if nobody answers, or ``topic`` does not exist."""
        with self.errors():
            # All topics: asking for a single one that does not exist would create it.
            found = client.list_topics(timeout=self.timeout_seconds)
        if topic is not None and topic not in found.topics:
            raise Failure(
                f"there is no topic {topic}; see: headrace topic list", ExitCode.NOT_FOUND
            )
        return found

    def result(self, future: Future[Any], what: str = "") -> Any:
        """The answer to an admin request; Failure if it is an error."""
        with self.errors(what):
            return future.result(timeout=self.timeout_seconds + 1)

    @contextmanager
    def errors(self, what: str = "") -> Iterator[None]:
        """Errors of the library become Failures; ``what`` says whom they are about."""
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            raise self.failure(error.args[0], what) from error
        except TimeoutError as error:
            raise self.no_answer() from error

    def failure(self, error: Any, what: str) -> Failure:
        name = error.name()
        if name in _UNREACHABLE:
            return self.no_answer()
        subject = f"{what}: " if what else ""
        message = f"{subject}{error.str().removeprefix('Broker: ')}"
        if name in _NOT_FOUND:
            listing = "headrace group list" if "GROUP" in name else "headrace topic list"
            return Failure(f"{message}; see: {listing}", ExitCode.NOT_FOUND)
        if name in _EXISTS:
            return Failure(message, ExitCode.EXISTS)
        return Failure(message, ExitCode.USAGE if name in _USAGE else ExitCode.FAILED)

    def no_answer(self) -> Failure:
        return Failure(
            f"no broker answers at {self.bootstrap}: start one with 'headrace serve', or pass "
            "--bootstrap HOST:PORT",
            ExitCode.CANNOT_CONNECT,
        )


def admin_library() -> Any:
    """The module of the admin client; its type hints leave out much of what it offers."""
    from confluent_kafka import admin

    return admin


def connect(bootstrap: str, settings: Sequence[str], timeout_seconds: float) -> Broker:
    """A broker to talk to; PackageNotInstalled if confluent-kafka is missing."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError as error:
        raise PackageNotInstalled("this verb", "confluent-kafka", "client") from error
    return Broker(bootstrap, settings, timeout_seconds)


def reach(bootstrap: str, settings: Sequence[str], timeout_seconds: float) -> tuple[Broker, Any]:
    """A broker that answers, and its admin client; Failure if none does."""
    broker = connect(bootstrap, settings, timeout_seconds)
    admin = broker.admin()
    broker.metadata(admin)
    return broker, admin


def _quiet_logger() -> logging.Logger:
    # The library logs every failed attempt; the verb reports the outcome itself.
    logger = logging.getLogger("headrace.cli.librdkafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
