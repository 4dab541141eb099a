"""Reading a range through the broker, as any consumer does; the columns are those of storage.

The consumer is assigned its partition and belongs to no group: it commits nothing. The end of the
range may have no record (a marker, a hole of compaction), so the end of the partition is told too.
"""

from __future__ import annotations

import time
from operator import methodcaller
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from headrace.model.errors import CorruptRecord
from headrace.pipeline.broker_view import (
    API_TIMEOUT_DEFAULT_MS,
    UNREACHABLE_CODES,
    named_error,
    quiet_logger,
)
from headrace.pipeline.client_settings import (
    API_TIMEOUT_MS,
    librdkafka_settings,
    timeout_seconds,
)
from headrace.pipeline.column_batches import cut, decoded_columns
from headrace.pipeline.errors import BrokerUnreachable, UnusableClientOption
from headrace.pipeline.losses import admit_loss
from headrace.records import column_schema as schema
from headrace.records.columns import Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.pipeline.broker_view import BrokerView
    from headrace.pipeline.ranges import OffsetRange
    from headrace.pipeline.read_settings import ReadSettings

POLL_SECONDS = 0.05
MESSAGES_PER_CALL_MAX = 10_000
QUEUED_KIB_MAX = 32 * 1024
"""What the library may hold ahead of us."""
_LOG_APPEND_TIME = 2
"""confluent-kafka's number for it; 1 is the time of creation."""
_DAMAGE_CODES = frozenset(
    {
        KafkaError._BAD_MSG,
        KafkaError._BAD_COMPRESSION,
        KafkaError._NOT_IMPLEMENTED,
        KafkaError.INVALID_MSG,
    }
)


def fetched_columns(
    view: BrokerView, wanted: OffsetRange, settings: ReadSettings
) -> Iterator[Columns]:
    """The records of a range; BrokerUnreachable if none comes for the time-out of the API."""
    reader = _FetchReader(view, wanted, settings)
    try:
        while reader.position < wanted.end:
            yield from reader.read()
    finally:
        reader.close()


class _FetchReader:
    """``position`` is the next offset to read."""

    def __init__(self, view: BrokerView, wanted: OffsetRange, settings: ReadSettings) -> None:
        self.position = wanted.start
        self._view = view
        self._wanted = wanted
        self._settings = settings
        self._columns = decoded_columns(settings.columns)
        self._patience_seconds = timeout_seconds(
            settings.kafka, API_TIMEOUT_MS, API_TIMEOUT_DEFAULT_MS
        )
        self._messages_max = min(MESSAGES_PER_CALL_MAX, settings.batch_rows_max)
        self._patient_until = time.monotonic() + self._patience_seconds
        self._last_trouble = ""
        self._consumer = _consumer(settings)
        self._assign()

    def close(self) -> None:
        self._consumer.close()

    def read(self) -> Iterator[Columns]:
        """What one call to the library brings; nothing while the broker has to be waited for."""
        messages = self._consumer.consume(
            min(self._messages_max, self._wanted.end - self.position), POLL_SECONDS
        )
        start, end = self.position, self._wanted.end
        records = []
        for message in messages:
            offset = message.offset()
            error = message.error()
            if error is not None:
                self._handle(error, offset)
            elif self.position <= offset:
                if offset < end:
                    records.append(message)
                self.position = min(offset + 1, end)
        if self.position > start:
            self._patient_until = time.monotonic() + self._patience_seconds
        else:
            self._raise_if_impatient()
        if records:
            yield from self._columns_of(records)

    def _assign(self) -> None:
        address = self._wanted.address
        self._consumer.assign([ClientPartition(address.topic, address.partition, self.position)])

    def _handle(self, error: Any, offset: int) -> None:
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            if offset >= self._wanted.end:
                self.position = self._wanted.end
            else:
                self._raise_if_log_is_shorter()
        elif code == KafkaError._AUTO_OFFSET_RESET:
            self._pass_over_lost_offsets()
        elif code in _DAMAGE_CODES:
            # The library loses its place behind such a batch: what it gives next may be anything.
            raise CorruptRecord(
                f"{self._wanted.address} from offset {self.position} on: {error.str()};"
                " read from storage, damaged batches are told one by one"
            )
        elif code == KafkaError.GROUP_AUTHORIZATION_FAILED:
            self._last_trouble = str(error.str())  # No group is used, so no right is needed.
        elif code in UNREACHABLE_CODES or error.retriable():
            self._last_trouble = str(error.str())
        else:
            raise named_error(error, str(self._wanted.address))

    def _pass_over_lost_offsets(self) -> None:
        address = self._wanted.address
        start = self._view.earliest([address])[address]
        if start <= self.position:
            self._last_trouble = f"the broker refuses offset {self.position}"
            self._raise_if_log_is_shorter()
        else:
            self._admit_loss(min(start, self._wanted.end), f"the log starts at {start} now")
        self._assign()

    def _raise_if_log_is_shorter(self) -> None:
        address = self._wanted.address
        end = self._view.latest([address], is_committed=False)[address]
        if end < self._wanted.end:
            self._admit_loss(self._wanted.end, f"the log ends at {end} now")

    def _admit_loss(self, next_offset: int, cause: str) -> None:
        admit_loss(
            self._wanted.address,
            self.position,
            next_offset,
            cause,
            is_fatal=self._settings.fail_on_data_loss,
        )
        self.position = next_offset

    def _raise_if_impatient(self) -> None:
        if time.monotonic() >= self._patient_until:
            trouble = f": {self._last_trouble}" if self._last_trouble else ""
            raise BrokerUnreachable(
                f"nothing came of {self._wanted.address} from offset {self.position} on for"
                f" {self._patience_seconds:.0f} s{trouble}"
            )

    def _columns_of(self, messages: Sequence[Any]) -> Iterator[Columns]:
        settings = self._settings
        batch = pa.RecordBatch.from_arrays(
            [_ARRAYS[name](messages) for name in self._columns],
            schema=schema.schema_of(self._columns),
        )
        self._adapt(len(messages), batch.nbytes)
        yield from cut(
            Columns(batch, [], self.position),
            settings.columns,
            settings.batch_rows_max,
            settings.batch_bytes_max,
        )

    def _adapt(self, count: int, size_bytes: int) -> None:
        """Large records: fewer of them at a time."""
        fitting = count * self._settings.batch_bytes_max // max(1, size_bytes)
        limit = min(MESSAGES_PER_CALL_MAX, self._settings.batch_rows_max)
        self._messages_max = max(1, min(limit, fitting))


def _consumer(settings: ReadSettings) -> Any:
    given = librdkafka_settings(settings.kafka, "consumer")
    try:
        return Consumer(
            {
                "group.id": "headrace-pipeline",
                "queued.max.messages.kbytes": QUEUED_KIB_MAX,
                "check.crcs": True,
                **given,
                "isolation.level": (
                    "read_committed" if settings.is_committed else "read_uncommitted"
                ),
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
            },
            logger=quiet_logger(),
        )
    except KafkaException as error:
        raise UnusableClientOption(f"kafka options: {error.args[0].str()}") from error


def _timestamps(messages: Sequence[Any]) -> pa.Array:
    times_ms = np.fromiter((message.timestamp()[1] for message in messages), np.int64)
    limit_ms = schema.TIMESTAMP_MS_MAX
    if len(times_ms) and (times_ms.max() > limit_ms or times_ms.min() < -limit_ms):
        raise CorruptRecord("a timestamp cannot be told in microseconds")
    microseconds = pa.array(times_ms * schema.MICROSECONDS_PER_MS)
    return microseconds.cast(schema.SCHEMA.field(schema.TIMESTAMP).type)


def _timestamp_types(messages: Sequence[Any]) -> pa.Array:
    return pa.array(
        [
            schema.LOG_APPEND_TIME_TYPE
            if message.timestamp()[0] == _LOG_APPEND_TIME
            else schema.CREATE_TIME_TYPE
            for message in messages
        ],
        pa.int32(),
    )


def _headers(messages: Sequence[Any]) -> pa.Array:
    return pa.array(
        [_headers_of(message) for message in messages],
        schema.SCHEMA.field(schema.HEADERS).type,
    )


_ask_headers = methodcaller("headers")
"""The library answers and raises at once where a key is no text. Called from Python, that may come
to light at any later line (the interpreter takes a short cut); called like this it does here."""


def _headers_of(message: Any) -> list[tuple[str, bytes | None]] | None:
    try:
        return _ask_headers(message) or None
    except (SystemError, UnicodeDecodeError) as error:
        raise CorruptRecord(
            f"{message.topic()}-{message.partition()}, offset {message.offset()}: a header key is"
            " not UTF-8; leave headers out, or read from storage"
        ) from error


_ARRAYS: dict[str, Callable[[Sequence[Any]], pa.Array]] = {
    schema.KEY: lambda messages: pa.array([m.key() for m in messages], pa.binary()),
    schema.VALUE: lambda messages: pa.array([m.value() for m in messages], pa.binary()),
    schema.OFFSET: lambda messages: pa.array([m.offset() for m in messages], pa.int64()),
    schema.TIMESTAMP: _timestamps,
    schema.TIMESTAMP_TYPE: _timestamp_types,
    schema.HEADERS: _headers,
}
