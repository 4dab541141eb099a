"""Where a job begins that has never run: ``earliest``, ``latest``, a time, or offsets as JSON."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any


def starting_options(starting: str) -> dict[str, str]:
    """As options of the source; ValueError if it is none of these."""
    if starting in ("earliest", "latest"):
        return {"startingOffsets": starting}
    if starting.lstrip().startswith("{"):
        _raise_if_no_positions(json.loads(starting))
        return {"startingOffsets": starting}
    moment = datetime.fromisoformat(starting)
    if moment.tzinfo is None:
        raise ValueError("a time without a zone")
    return {"startingTimestamp": str(int(moment.timestamp() * 1_000))}


def _raise_if_no_positions(value: Any) -> None:
    for partitions in value.values():
        if not isinstance(partitions, dict):
            raise ValueError("expected partitions")
        for partition, offset in partitions.items():
            int(partition)
            if not isinstance(offset, int):
                raise ValueError("expected an offset")
