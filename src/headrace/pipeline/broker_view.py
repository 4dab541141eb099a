"""What the pipeline asks a broker: which partitions there are, where they begin and end, where its
files are.

Each question is asked again while the broker cannot be reached, until the time-out of the API; then
BrokerUnreachable. What asking again cannot change is an error at once.
"""

from __future__ import annotations

import logging
import re
import time
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka import admin as admin_module

from headrace.model.errors import (
    AuthenticationFailed,
    AuthorizationFailed,
    ClusterAuthorizationFailed,
    GroupAuthorizationFailed,
    HeadraceError,
    InvalidRegularExpression,
    TopicAuthorizationFailed,
)
from headrace.model.topic import INTERNAL_TOPICS, NO_TOPIC_ID, TopicId, TopicPartition
from headrace.pipeline.client_settings import (
    API_TIMEOUT_MS,
    BOOTSTRAP_SERVERS,
    REQUEST_TIMEOUT_MS,
    librdkafka_settings,
    timeout_seconds,
)
from headrace.pipeline.errors import (
    BrokerUnreachable,
    PipelineError,
    TopicMissing,
    UnusableClientOption,
)
from headrace.storage.metadata_files import uuid_from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_DEFAULT_MS = 30_000
API_TIMEOUT_DEFAULT_MS = 60_000
RETRY_PAUSE_SECONDS = 0.2
NOTHING_THAT_NEW = -1
LOG_DIRECTORY_OPTIONS = ("log.dirs", "log.dir")
LOG_DIRECTORY_SECONDS = 60.0
"""A broker lists all of its settings to answer, which keeps it from its clients for milliseconds;
and every range of every batch wants to know."""

MISSING_CODES = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError._NOENT,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)
UNREACHABLE_CODES = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._SSL,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._WAIT_COORD,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.BROKER_NOT_AVAILABLE,
    }
)
AUTHORIZATION_ERRORS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED: TopicAuthorizationFailed,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: ClusterAuthorizationFailed,
    KafkaError.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationFailed,
}
AUTHENTICATION_CODES = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.ILLEGAL_SASL_STATE,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
    }
)

T = TypeVar("T")

_library: Any = admin_module
"""Its type hints leave out much of what it offers."""


class BrokerView:
    """An admin client with the questions of the pipeline; ``close`` it, or use it in a block."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """``settings``: the ``kafka.*`` options without their prefix."""
        self._address = settings.get(BOOTSTRAP_SERVERS, "")
        self._request_seconds = timeout_seconds(
            settings, REQUEST_TIMEOUT_MS, REQUEST_TIMEOUT_DEFAULT_MS
        )
        self._api_seconds = timeout_seconds(settings, API_TIMEOUT_MS, API_TIMEOUT_DEFAULT_MS)
        self._last_error: Any = None
        self._maybe_directory: tuple[float, str | None] | None = None
        """Until when it holds, and the directory."""
        self._maybe_admin: Any = self._make_admin(librdkafka_settings(settings, "admin"))

    def _make_admin(self, settings: dict[str, Any]) -> Any:
        try:
            return _library.AdminClient(
                {**settings, "error_cb": self._note_error}, logger=quiet_logger()
            )
        except KafkaException as error:
            raise UnusableClientOption(f"kafka options: {error.args[0].str()}") from error

    def close(self) -> None:
        """The library ends its threads when nobody refers to the client any more."""
        self._maybe_admin = None

    def __enter__(self) -> BrokerView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- questions --------------------------------------------------------------------------------

    def cluster_id(self) -> str:
        return str(self._describe_cluster().cluster_id)

    def partitions(
        self, topics: Sequence[str] | None = None, pattern: str | None = None
    ) -> dict[str, list[int]]:
        """Partitions of the named topics, or of all that match; TopicMissing for an unknown name.

        A pattern must match the whole name, and never matches internal topics.
        """
        if pattern is not None:
            return self._matching_partitions(pattern)
        return {
            name: sorted(partition.id for partition in described.partitions)
            for name, described in self._describe_topics(list(topics or ())).items()
        }

    def topic_id(self, topic: str) -> TopicId:
        """The id that tells a topic from another of the same name; zeros if there are no ids."""
        return self.topic_ids([topic])[topic]

    def topic_ids(self, topics: Sequence[str]) -> dict[str, TopicId]:
        """The ids of several topics, by one question."""
        return {
            name: uuid_from_text(str(described.topic_id)) if described.topic_id else NO_TOPIC_ID
            for name, described in self._describe_topics(list(topics)).items()
        }

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where each log starts."""
        return self._offsets(dict.fromkeys(partitions, _library.OffsetSpec.earliest()))

    def latest(
        self, partitions: Iterable[TopicPartition], is_committed: bool
    ) -> dict[TopicPartition, int]:
        """High watermarks; with ``is_committed`` last stable offsets."""
        return self._offsets(dict.fromkeys(partitions, _library.OffsetSpec.latest()), is_committed)

    def at_time(
        self, times_ms: Mapping[TopicPartition, int], is_committed: bool = False
    ) -> dict[TopicPartition, int | None]:
        """The first offset whose record is of that time or later; None if there is none."""
        wanted = {
            key: _library.OffsetSpec.for_timestamp(time_ms) for key, time_ms in times_ms.items()
        }
        found = self._offsets(wanted, is_committed)
        return {key: None if at == NOTHING_THAT_NEW else at for key, at in found.items()}

    def log_directory(self) -> str | None:
        """The broker's data directory; None if it does not tell, or has several. Kept for a while:
        whoever finds something else there than the broker's files has it forgotten.
        """
        now = time.monotonic()
        if self._maybe_directory is None or now >= self._maybe_directory[0]:
            self._maybe_directory = now + LOG_DIRECTORY_SECONDS, self._ask_log_directory()
        return self._maybe_directory[1]

    def forget_log_directory(self) -> None:
        self._maybe_directory = None

    def _ask_log_directory(self) -> str | None:
        cluster = self._describe_cluster()
        node = cluster.controller or min(cluster.nodes, key=lambda node: node.id, default=None)
        if node is None:
            return None
        resource = _library.ConfigResource(_library.ConfigResource.Type.BROKER, str(node.id))
        try:
            values = self._ask(
                lambda admin, seconds: _one_result(
                    admin.describe_configs([resource], request_timeout=seconds), seconds
                ),
                f"the settings of broker {node.id}",
            )
        except AuthorizationFailed as error:
            log.info("the broker's log directory is not known here: %s", error.message)
            return None
        return _single_directory(values)

    # --- asking -----------------------------------------------------------------------------------

    def _describe_cluster(self) -> Any:
        return self._ask(
            lambda admin, seconds: admin.describe_cluster(request_timeout=seconds).result(seconds),
            "the cluster",
        )

    def _describe_topics(self, names: list[str]) -> dict[str, Any]:
        if not names:
            return {}

        def question(admin: Any, seconds: float) -> dict[str, Any]:
            futures = admin.describe_topics(TopicCollection(names), request_timeout=seconds)
            return {
                name: _result(future, seconds, f"topic {name}") for name, future in futures.items()
            }

        return self._ask(question, "the topics")

    def _matching_partitions(self, pattern: str) -> dict[str, list[int]]:
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise InvalidRegularExpression(f"subscribePattern {pattern!r}: {error}") from error
        metadata = self._ask(lambda admin, seconds: admin.list_topics(timeout=seconds), "topics")
        return {
            name: sorted(topic.partitions)
            for name, topic in sorted(metadata.topics.items())
            if name not in INTERNAL_TOPICS and compiled.fullmatch(name)
        }

    def _offsets(
        self, wanted: Mapping[TopicPartition, Any], is_committed: bool = False
    ) -> dict[TopicPartition, int]:
        if not wanted:
            return {}
        isolation = (
            IsolationLevel.READ_COMMITTED if is_committed else IsolationLevel.READ_UNCOMMITTED
        )
        request = {ClientPartition(key.topic, key.partition): at for key, at in wanted.items()}

        def question(admin: Any, seconds: float) -> dict[TopicPartition, int]:
            futures = admin.list_offsets(
                request, isolation_level=isolation, request_timeout=seconds
            )
            return {
                TopicPartition(asked.topic, asked.partition): _result(
                    future, seconds, f"partition {asked.partition} of topic {asked.topic}"
                ).offset
                for asked, future in futures.items()
            }

        deadline = time.monotonic() + self._api_seconds
        while True:
            try:
                return self._ask(question, "offsets")
            except TopicMissing as error:
                self._raise_if_really_missing(wanted, error)
                if time.monotonic() >= deadline:
                    raise BrokerUnreachable(error.message) from error
            time.sleep(RETRY_PAUSE_SECONDS)

    def _raise_if_really_missing(
        self, wanted: Iterable[TopicPartition], error: TopicMissing
    ) -> None:
        """The library says so of offsets also where it is refused, and where a broker has just
        come back and it knows no leaders yet; of topics it tells the difference.
        """
        try:
            there = self.partitions(sorted({key.topic for key in wanted}))
        except TopicMissing:
            raise error from None
        if not all(key.partition in there[key.topic] for key in wanted):
            raise error

    def _ask(self, question: Callable[[Any, float], T], what: str) -> T:
        """Ask until there is an answer, an error that stays, or no time left."""
        if self._maybe_admin is None:
            raise PipelineError("this view of the broker is closed")
        deadline = time.monotonic() + self._api_seconds
        while True:
            left_seconds = deadline - time.monotonic()
            try:
                answer = question(self._maybe_admin, min(self._request_seconds, left_seconds))
            except KafkaException as error:
                reason = error.args[0]
                if reason.code() not in UNREACHABLE_CODES and not reason.retriable():
                    raise named_error(reason, getattr(error, "subject", what)) from error
                self._raise_if_hopeless(deadline, str(reason.str()), error)
            except FutureTimeoutError as error:
                self._raise_if_hopeless(deadline, "no answer in time", error)
            else:
                self._last_error = None
                return answer
            time.sleep(RETRY_PAUSE_SECONDS)

    def _raise_if_hopeless(self, deadline: float, reason: str, cause: BaseException) -> None:
        self._maybe_admin.poll(0)  # This is where the library tells of connections that failed.
        last = self._last_error
        if last is not None and last.code() in AUTHENTICATION_CODES:
            raise AuthenticationFailed(f"{self._address}: {last.str()}") from cause
        if time.monotonic() + RETRY_PAUSE_SECONDS >= deadline:
            told = f" ({last.str()})" if last is not None else ""
            raise BrokerUnreachable(
                f"no broker at {self._address} answered within {self._api_seconds:.0f} s:"
                f" {reason}{told}"
            ) from cause

    def _note_error(self, error: Any) -> None:
        """Failed connections are told here only; a log-in that failed is the one to remember."""
        if self._last_error is None or self._last_error.code() not in AUTHENTICATION_CODES:
            self._last_error = error


def named_error(error: Any, what: str) -> HeadraceError:
    """An error of the client library as one of ours."""
    code, text = error.code(), str(error.str()).removeprefix("Broker: ")
    if code in MISSING_CODES:
        return TopicMissing(f"{what}: {text}")
    if code in AUTHORIZATION_ERRORS:
        return AUTHORIZATION_ERRORS[code](f"{what}: {text}")
    if code in AUTHENTICATION_CODES:
        return AuthenticationFailed(f"{what}: {text}")
    if code in UNREACHABLE_CODES or error.retriable():
        return BrokerUnreachable(f"{what}: {text}")
    return PipelineError(f"{what}: {text} ({error.name()})")


def quiet_logger() -> logging.Logger:
    """The library logs every failed attempt; the outcome is ours to tell."""
    logger = logging.getLogger("headrace.pipeline.librdkafka")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


def _result(future: Any, seconds: float, subject: str) -> Any:
    try:
        return future.result(seconds)
    except KafkaException as error:
        error.subject = subject  # type: ignore[attr-defined]
        raise


def _one_result(futures: Mapping[Any, Any], seconds: float) -> Any:
    (future,) = futures.values()
    return future.result(seconds)


def _single_directory(values: Mapping[str, Any]) -> str | None:
    for name in LOG_DIRECTORY_OPTIONS:
        text = values[name].value if name in values else None
        if text:
            return None if "," in text else str(text)
    return None
