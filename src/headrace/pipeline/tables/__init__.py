"""Tables: where the pipeline puts records, in three formats behind one port.

``open_table`` is the door. A job keeps one table open in its driver; tasks get ``table.layout``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import InvalidConfig
from headrace.pipeline.tables.settings import table_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.pipeline.tables.table import Table

KINDS = ("plain", "delta", "iceberg")


def open_table(
    kind: str,
    url: str,
    *,
    partition_by: str = "hour",
    options: Mapping[str, str] | None = None,
    take_over: bool = False,
) -> Table:
    """A table to read from or to write to. Nothing is made before the first commit."""
    settings = table_settings(partition_by, options or {}, take_over=take_over)
    if kind == "plain":
        from headrace.pipeline.tables.plain import PlainTable

        return PlainTable(url, settings)
    if kind == "delta":
        from headrace.pipeline.tables.delta import DeltaLakeTable

        return DeltaLakeTable(url, settings)
    if kind == "iceberg":
        from headrace.pipeline.tables.iceberg import IcebergTable

        return IcebergTable(url, settings)
    raise InvalidConfig(f"a table is {', '.join(KINDS)}, not {kind!r}")
