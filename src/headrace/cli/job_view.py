"""Jobs on a screen: rows for a table, and a live view of them on a terminal.

The live view is on standard error and for people only; without a terminal nothing is shown.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headrace.cli.output import Row
    from headrace.pipeline.jobs.status import JobStatus

COLUMNS = (
    "job",
    "state",
    "source",
    "target",
    "rows",
    "rows_per_second",
    "lag_records",
    "files",
    "parked_rows",
    "restarts",
)
_LIVE_COLUMNS = {
    "job": "JOB",
    "state": "STATE",
    "rows": "ROWS",
    "rows_per_second": "ROWS/S",
    "lag_records": "LAG",
    "files": "FILES",
    "parked_rows": "PARKED",
}
"""They fit a terminal of 80 characters."""
_STALE_MS = 60_000
"""After so long without a batch, the rate is none."""
_REFRESHES_PER_SECOND = 4
_BAR_WIDTH = 10


def status_row(status: JobStatus, now_ms: int) -> Row:
    """All that is known of a job, for JSON as well."""
    row: Row = dict(status.to_json())
    if now_ms - status.updated_ms > _STALE_MS:
        row["rows_per_second"] = 0.0
    return row


@contextmanager
def live_view(*, wanted: bool) -> Iterator[Callable[[Sequence[JobStatus]], None]]:
    """Gives a function that shows jobs as they are now, in place of what it showed before."""
    if not wanted or not sys.stderr.isatty():
        yield lambda statuses: None
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    with Live(console=console, refresh_per_second=_REFRESHES_PER_SECOND) as live:
        yield lambda statuses: live.update(live_table(statuses))


def live_table(statuses: Sequence[JobStatus]) -> Any:
    """A table with a bar per job: how much of what there is has been taken."""
    from rich import box
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption_justify="left")
    for column, head in _LIVE_COLUMNS.items():
        is_text = column in ("job", "state")
        table.add_column(head, justify="left" if is_text else "right", no_wrap=column != "job")
    table.add_column("DONE", width=_BAR_WIDTH)
    for status in statuses:
        done = status.rows + status.parked_rows
        total = done + (status.lag_records or 0)
        known = status.lag_records is not None
        bar = ProgressBar(
            total=max(total, 1) if known else None, completed=done if total else 1, pulse=not known
        )
        table.add_row(*(Text(_cell(getattr(status, each))) for each in _LIVE_COLUMNS), bar)
    faults = [
        f"{status.job}: restarted {status.restarts} times; {status.last_error}"
        for status in statuses
        if status.last_error
    ]
    if faults:
        # Text, not str: an error must not be read as markup.
        table.caption = Text("\n".join(faults), style="red")
    return table


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(getattr(value, "value", value))
