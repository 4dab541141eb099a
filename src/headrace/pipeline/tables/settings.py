"""Options of tables, as texts, and what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import InvalidConfig
from headrace.pipeline.tables.file_names import BUCKETS_MS, PARTITION_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Mapping

MINUTE_MS = 60_000
RETENTION_MINUTES = 60
ORPHAN_AGE_MINUTES = 24 * 60
ORPHAN_AGE_MINUTES_MIN = 60
"""A file that a task is writing is not committed yet either."""
_TRUTH = {"true": True, "false": False}
COMPRESSIONS = ("zstd", "snappy", "lz4", "none")

OPTIONS = {
    "compression": "of the files: zstd, snappy, lz4 or none",
    "partition.columns": "names of the date and hour columns, by a comma",
    "replaced.minutes": "how long files that a compaction replaced are kept for readers",
    "orphan.minutes": "how old files that were never committed must be to be removed",
    "takeover": "whether a job may go on with a table that another one, or somebody else, made",
    "sync": "whether a commit waits until its files would survive a power failure",
    "view": "plain: whether there are links that a pattern *.parquet finds",
    "table": "iceberg: namespace and name in the catalog",
}
PREFIXES = {"storage.": "for the object store", "catalog.": "iceberg: for the catalog"}


class TableSettings(NamedTuple):
    """The same for all formats."""

    columns: tuple[str, ...]
    bucket_ms: int | None
    take_over: bool = False
    is_synced: bool = True
    has_view: bool = True
    compression: str = COMPRESSIONS[0]
    retention_ms: int = RETENTION_MINUTES * MINUTE_MS
    orphan_age_ms: int = ORPHAN_AGE_MINUTES * MINUTE_MS
    table: str = "headrace.records"
    storage: Mapping[str, str] = {}
    catalog: Mapping[str, str] = {}


def table_settings(
    partition_by: str, options: Mapping[str, str], *, take_over: bool = False
) -> TableSettings:
    """Everything checked; the error names the option."""
    for name in options:
        if name not in OPTIONS and not name.startswith(tuple(PREFIXES)):
            raise InvalidConfig(f"tables have no option {name!r}; they have {', '.join(OPTIONS)}")
    if partition_by not in BUCKETS_MS:
        raise InvalidConfig(f"partition by {', '.join(BUCKETS_MS)}, not by {partition_by!r}")
    return TableSettings(
        columns=_columns(partition_by, options),
        bucket_ms=BUCKETS_MS[partition_by],
        take_over=take_over or _truth(options, "takeover", default="false"),
        is_synced=_truth(options, "sync"),
        has_view=_truth(options, "view"),
        compression=_compression(options),
        retention_ms=_minutes_ms(options, "replaced.minutes", RETENTION_MINUTES),
        orphan_age_ms=_minutes_ms(
            options, "orphan.minutes", ORPHAN_AGE_MINUTES, minimum=ORPHAN_AGE_MINUTES_MIN
        ),
        table=options.get("table", TableSettings._field_defaults["table"]),
        storage=_below(options, "storage."),
        catalog=_below(options, "catalog."),
    )


def _columns(partition_by: str, options: Mapping[str, str]) -> tuple[str, ...]:
    names = options.get("partition.columns", ",".join(PARTITION_COLUMNS)).split(",")
    columns = tuple(name.strip() for name in names)
    if len(columns) != len(PARTITION_COLUMNS) or not all(columns) or columns[0] == columns[1]:
        raise InvalidConfig("partition.columns is two names by a comma, such as day,hour_of_day")
    return {"hour": columns, "date": columns[:1], "none": ()}[partition_by]


def _compression(options: Mapping[str, str]) -> str:
    name = str(options.get("compression", COMPRESSIONS[0])).lower()
    if name not in COMPRESSIONS:
        raise InvalidConfig(f"compression is {', '.join(COMPRESSIONS)}, not {name!r}")
    return name


def _truth(options: Mapping[str, str], name: str, default: str = "true") -> bool:
    text = str(options.get(name, default)).lower()
    if text not in _TRUTH:
        raise InvalidConfig(f"{name} is true or false, not {text!r}")
    return _TRUTH[text]


def _minutes_ms(options: Mapping[str, str], name: str, default: int, *, minimum: int = 0) -> int:
    text = str(options.get(name, default))
    if not text.isdecimal() or int(text) < minimum:
        raise InvalidConfig(f"{name} is a number of minutes from {minimum}, not {text!r}")
    return int(text) * MINUTE_MS


def _below(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in options.items()
        if name.startswith(prefix)
    }
