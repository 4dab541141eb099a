"""How a task reads: made once by the driver, sent to every task."""

from __future__ import annotations

from typing import NamedTuple

from headrace.records.column_schema import COLUMNS

READ_PATHS = ("auto", "storage", "fetch")

BATCH_ROWS_MAX = 16_384
BATCH_BYTES_MAX = 2 * 1024 * 1024


class ReadSettings(NamedTuple):
    """``kafka`` are the ``kafka.*`` options without their prefix.

    ``path``: ``auto`` reads the broker's files where they can be reached and fetches otherwise.
    ``storage_url``: where the files are; None asks the broker. ``topic_ids``: of the topics that
    the driver planned with, in hexadecimal; another topic of the same name is not read.
    """

    kafka: dict[str, str]
    path: str = "auto"
    storage_url: str | None = None
    is_committed: bool = False
    columns: tuple[str, ...] = COLUMNS
    fail_on_data_loss: bool = True
    batch_rows_max: int = BATCH_ROWS_MAX
    batch_bytes_max: int = BATCH_BYTES_MAX
    topic_ids: dict[str, str] | None = None
