"""What a commit of Delta or Iceberg carries beside its files, as the texts that both can keep.

Bad records go to a second table, and two tables cannot be committed in one step. So the commit of
the first one names the files of the second: they are written and only have to be added, which
whoever writes next does, should we not get that far. The sequence number tells whether it was done.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from headrace.pipeline.tables.commit_rules import EMPTY_STATE, TableState
from headrace.pipeline.tables.data_file import DataFile
from headrace.pipeline.tables.errors import DamagedTable

if TYPE_CHECKING:
    from collections.abc import Mapping

SEQUENCE = "headrace.sequence"
STATE = "headrace.state"
PARKED = "headrace.parked"


class CommitRecord(NamedTuple):
    """One more with each commit of Headrace, so that two of them never pass unnoticed."""

    sequence: int = 0
    state: TableState = EMPTY_STATE
    parked: tuple[DataFile, ...] = ()

    def to_properties(self) -> dict[str, str]:
        return {
            SEQUENCE: str(self.sequence),
            STATE: json.dumps(self.state.to_values(), separators=(",", ":")),
            PARKED: json.dumps([file.to_values() for file in self.parked], separators=(",", ":")),
        }


def record_from(properties: Mapping[str, str], where: str) -> CommitRecord:
    try:
        return CommitRecord(
            int(properties[SEQUENCE]),
            TableState.from_values(json.loads(properties[STATE])),
            tuple(DataFile.from_values(each) for each in json.loads(properties[PARKED])),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedTable(f"a commit of {where} has a record that is not ours: {error}") from error
