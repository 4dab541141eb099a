"""What a history can be guilty of, each kind of fault by its own name."""

from __future__ import annotations

import threading
from collections import Counter
from enum import Enum
from typing import NamedTuple

EXAMPLES_MAX = 100
"""A broken broker breaks millions of records; the first ones tell what happened."""


class Fault(Enum):
    """The value is what a person reads in a report."""

    LOST = "acknowledged record is gone"
    VANISHED = "record that was read once is gone"
    DUPLICATED = "record is there twice"
    REORDERED = "record of a producer stands before an earlier one of it"
    PHANTOM = "record that nobody sent, or that was refused"
    WRONG_OFFSET = "record stands elsewhere than its producer was told"
    WRONG_CONTENT = "content is not what was sent"
    GAP = "offsets are missing"
    OFFSET_REPEATED = "offset came twice in one reading of the log"
    READ_BEYOND_WATERMARK = "record was read at or above the high watermark"
    WATERMARK_WENT_BACK = "high watermark is lower than what was told before"
    LOG_START_WENT_BACK = "log start is lower than what was told before"
    DELETED_EARLY = "log start is higher than retention or deletion allow"
    COMMIT_WENT_BACK = "committed offset is lower than what was acknowledged"
    COMMIT_NOBODY_MADE = "committed offset is higher than any that was sent"
    RESURRECTED = "value of a deleted key is back"
    METADATA_LOST = "acknowledged change of topics or settings is undone"
    ABORTED_READ = "record of an aborted transaction was read as committed"
    TORN = "transaction is committed in part"
    HANGING = "transaction is open although its producer has ended"


class Violation(NamedTuple):
    """One fault at one place."""

    fault: Fault
    where: str
    detail: str

    def __str__(self) -> str:
        return f"{self.fault.name} {self.where}: {self.detail}"


class Violations:
    """Counts all, keeps the first few. May be told from several threads."""

    def __init__(self, examples_max: int = EXAMPLES_MAX) -> None:
        self.counts: Counter[Fault] = Counter()
        self.examples: list[Violation] = []
        self._examples_max = examples_max
        self._lock = threading.Lock()

    def add(self, fault: Fault, where: str, detail: str, count: int = 1) -> None:
        with self._lock:
            self.counts[fault] += count
            if len(self.examples) < self._examples_max:
                self.examples.append(Violation(fault, where, detail))
