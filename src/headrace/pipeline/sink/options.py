"""The options of ``write.format("headrace")`` and ``writeStream.format("headrace")``.

Spark hands option names over in lower case; Kafka's own are in lower case anyway.
"""

from __future__ import annotations

import os
import posixpath
import tempfile
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from headrace.pipeline.sink.errors import InvalidSinkOption

if TYPE_CHECKING:
    from collections.abc import Mapping

KAFKA_PREFIX = "kafka."
OWN_PREFIX = "headrace."
# What the source reads; a job may hand the same options to both ends.
READ_PREFIX = "headrace.read."
TRANSACTIONAL_ID = "kafka.transactional.id"
IDEMPOTENCE = "kafka.enable.idempotence"

TOPIC = "topic"
DELIVERY = "headrace.delivery"
STAGING_LOCATION = "headrace.staging.location"
STAGING_INLINE_BYTES = "headrace.staging.inline.bytes"
SINK_ID = "headrace.sink.id"
BATCH_ID = "headrace.batch.id"
OWN_OPTIONS = frozenset({DELIVERY, STAGING_LOCATION, STAGING_INLINE_BYTES, SINK_ID, BATCH_ID})

CHECKPOINT_LOCATION = "checkpointlocation"
STAGING_DIRECTORY = "headrace-staging"

# What one task may send to the driver inside its commit message. Spark keeps those of all tasks in
# memory: of 2,000 tasks they are half of what it allows (spark.driver.maxResultSize).
INLINE_BYTES = 256 * 1024
INLINE_BYTES_MAX = 64 * 1024 * 1024
SINK_ID_CHARACTERS_MAX = 200


class Delivery(Enum):
    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


class SinkOptions(NamedTuple):
    """Checked options. ``kafka`` holds librdkafka's settings, without the prefix."""

    kafka: dict[str, str]
    topic: str | None
    delivery: Delivery
    staging_url: str
    inline_bytes: int
    sink_id: str | None
    batch_id: int


def parse_options(options: Mapping[str, str], default_delivery: Delivery) -> SinkOptions:
    """Raises ``InvalidSinkOption`` for what is unknown or makes no sense."""
    given = {name.lower(): value for name, value in options.items()}
    _raise_if_unknown(given)
    kafka = _client_settings(given)
    if not kafka.get("bootstrap.servers"):
        raise InvalidSinkOption("option kafka.bootstrap.servers is missing: which broker?")
    sink_id = given.get(SINK_ID)
    if (sink_id is None) != (BATCH_ID not in given):
        raise InvalidSinkOption(f"{SINK_ID} and {BATCH_ID} go together: one without the other")
    if sink_id is not None and not 0 < len(sink_id) <= SINK_ID_CHARACTERS_MAX:
        raise InvalidSinkOption(f"{SINK_ID} must have 1 to {SINK_ID_CHARACTERS_MAX} characters")
    delivery = _delivery(given, default_delivery)
    if sink_id is not None and delivery is not Delivery.EXACTLY_ONCE:
        raise InvalidSinkOption(f"{SINK_ID} needs {DELIVERY}={Delivery.EXACTLY_ONCE.value}")
    return SinkOptions(
        kafka=kafka,
        topic=given.get(TOPIC) or None,
        delivery=delivery,
        staging_url=_staging_url(given),
        inline_bytes=_number(given, STAGING_INLINE_BYTES, INLINE_BYTES, INLINE_BYTES_MAX),
        sink_id=sink_id,
        batch_id=_number(given, BATCH_ID, 0, 2**62),
    )


def _client_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Every ``kafka.x`` as ``x``."""
    return {
        name.removeprefix(KAFKA_PREFIX): value
        for name, value in options.items()
        if name.startswith(KAFKA_PREFIX)
    }


def _raise_if_unknown(given: Mapping[str, str]) -> None:
    for name in given:
        is_own = name.startswith(OWN_PREFIX) and not name.startswith(READ_PREFIX)
        if is_own and name not in OWN_OPTIONS:
            raise InvalidSinkOption(
                f"there is no option {name}; the sink has {', '.join(sorted(OWN_OPTIONS))}"
            )
    if TRANSACTIONAL_ID in given:
        raise InvalidSinkOption(f"{TRANSACTIONAL_ID} is the sink's own business; see {DELIVERY}")
    if given.get(IDEMPOTENCE, "true").lower() != "true":
        raise InvalidSinkOption(f"{IDEMPOTENCE} cannot be switched off; see {DELIVERY}")


def _delivery(given: Mapping[str, str], default: Delivery) -> Delivery:
    text = given.get(DELIVERY, default.value)
    try:
        return Delivery(text)
    except ValueError:
        choices = " or ".join(choice.value for choice in Delivery)
        raise InvalidSinkOption(f"{DELIVERY}={text}: must be {choices}") from None


def _number(given: Mapping[str, str], name: str, default: int, maximum: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or int(text) > maximum:
        raise InvalidSinkOption(f"{name}={text}: must be a number from 0 to {maximum}")
    return int(text)


def _staging_url(given: Mapping[str, str]) -> str:
    """A directory of our own; beside the checkpoint unless another place is named."""
    location = given.get(STAGING_LOCATION) or given.get(CHECKPOINT_LOCATION)
    if not location:
        # Shared with other users of the machine, whose directory ours must not be.
        return posixpath.join(tempfile.gettempdir(), f"{STAGING_DIRECTORY}-{os.getuid()}")
    if ":" not in location:
        # Tasks may run in another working directory.
        location = os.path.abspath(location)
    return posixpath.join(location, STAGING_DIRECTORY)
