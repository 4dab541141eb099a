"""Is every record in the output, once, as it was sent? Counted by DuckDB, offset by offset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.testing.history import Report
from headrace.testing.history_faults import Fault, Violations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from duckdb import DuckDBPyConnection

OUTPUT = "output"
"""Table with a row for each record of the output: "partition", "offset", is_right."""

SENT = "sent"
EVERY_OFFSET_SENT = f'SELECT "partition", unnest(range(records)) AS "offset" FROM {SENT}'
FAULTS = {
    Fault.LOST: f"""
        SELECT *, 1 FROM (
            {EVERY_OFFSET_SENT} EXCEPT SELECT "partition", "offset" FROM {OUTPUT}
        ) ORDER BY ALL
    """,
    Fault.PHANTOM: f"""
        SELECT *, 1 FROM (
            SELECT "partition", "offset" FROM {OUTPUT} EXCEPT {EVERY_OFFSET_SENT}
        ) ORDER BY ALL
    """,
    Fault.DUPLICATED: f"""
        SELECT "partition", "offset", count(*) - 1 FROM {OUTPUT}
        GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL
    """,
    Fault.WRONG_CONTENT: f"""
        SELECT "partition", "offset", 1 FROM {OUTPUT} WHERE is_right IS NOT TRUE ORDER BY ALL
    """,
}
"""Each gives partition, offset, and how many records are at fault."""


def judge(connection: DuckDBPyConnection, sent: Sequence[int]) -> Report:
    """``sent``: how many records each partition of the source has."""
    connection.execute(f'CREATE TABLE {SENT} ("partition" INTEGER, records BIGINT)')
    connection.executemany(f"INSERT INTO {SENT} VALUES (?, ?)", list(enumerate(sent)))
    violations = Violations()
    for fault, query in FAULTS.items():
        for partition, offset, times in connection.execute(query).fetchall():
            violations.add(fault, f"partition {partition}", f"offset {offset}", times)
    counted = connection.execute(
        f'SELECT count(*), count(DISTINCT ("partition", "offset")) FROM {OUTPUT}'
    ).fetchone()
    assert counted is not None
    counts = {
        "records in the source": sum(sent),
        "records in the output": counted[0],
        "different offsets in the output": counted[1],
    }
    return Report(counts, dict(violations.counts), tuple(violations.examples))
