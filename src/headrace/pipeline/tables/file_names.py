"""Names of data files: made of the offsets inside, below directories made of the record's time.

The name is a function of what is in the file, so that the same batch done twice gives the same name
and not a second copy. Directories are named as Hive does it, which Spark, DuckDB and pyarrow turn
into columns.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.pipeline.ranges import OffsetRange

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
PARTITION_COLUMNS = ("date", "hour")
BUCKETS_MS = {"hour": HOUR_MS, "date": DAY_MS, "none": None}
"""Width of a partition by the name of the partitioning."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""Stands in a path for a time that is missing, or that no calendar has."""
TOPIC_CHARACTERS_MAX = 120
"""Longer names of topics are cut and told apart by a digest: file systems stop at 255 bytes."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOKEN = re.compile(r"-[0-9a-f]{12}(\.parq(uet)?)$")


def data_file_name(
    ranges: Sequence[OffsetRange], partition_values: Mapping[str, str], prefix: str = "records"
) -> str:
    """For example ``date=2026-11-16/hour=10/records-orders-3-<start>-<end>.parquet``.

    Readers pass over files that begin with ``_`` or ``.``, and topics may: hence the prefix.
    """
    folders = [f"{column}={quote(value, safe=':+ ')}" for column, value in partition_values.items()]
    return "/".join([*folders, f"{prefix}-{_stem(ranges)}.parquet"])


def without_token(path: str) -> str:
    """The name that only depends on what is inside; see ``FileLayout.new_file``."""
    return _TOKEN.sub(".parquet", path)


def with_token(path: str) -> str:
    """The name of a second file with the same offsets."""
    return f"{path.rpartition('/')[2].rpartition('.')[0]}.parquet"


def calendar_values(timestamp_ms: int | None, columns: Sequence[str]) -> dict[str, str]:
    """Date and, if there is a second column, hour of a record's time, in UTC."""
    try:
        if timestamp_ms is None:
            raise OverflowError
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:  # a producer may send any number
        return dict.fromkeys(columns, NO_VALUE)
    return dict(zip(columns, (moment.date().isoformat(), str(moment.hour)), strict=False))


def _stem(ranges: Sequence[OffsetRange]) -> str:
    if len(ranges) == 1:
        topic, partition, start, end = ranges[0]
        return f"{_short(topic)}-{partition}-{start:020d}-{end:020d}"
    topics = {each.topic for each in ranges}
    topic = _short(ranges[0].topic) if len(topics) == 1 else f"{len(topics)}.topics"
    return f"{topic}-{len(ranges)}.ranges-{_digest(repr([tuple(each) for each in ranges]), 24)}"


def _short(topic: str) -> str:
    if len(topic) <= TOPIC_CHARACTERS_MAX:
        return topic
    return f"{topic[: TOPIC_CHARACTERS_MAX - 17]}.{_digest(topic, 16)}"


def _digest(text: str, characters: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:characters]
