"""What the word count said: of every word the numbers 1, 2, 3 ... up to how often it was sent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headrace.testing.history import Report
from headrace.testing.history_faults import Fault, Violations

if TYPE_CHECKING:
    from collections.abc import Mapping


class Tally:
    """Counts as a read_committed consumer sees them, told in the order of each partition."""

    def __init__(self) -> None:
        self.violations = Violations()
        self.counts: Counter[str] = Counter()

    @property
    def words(self) -> int:
        """How many words are counted so far."""
        return self.counts.total()

    def read(self, word: str, count: int) -> None:
        last = self.counts[word]
        detail = f"{count} after {last}"
        if count <= last:
            self.violations.add(Fault.DUPLICATED, f"word {word}", detail)
        elif count > last + 1:
            self.violations.add(Fault.GAP, f"word {word}", detail)
        self.counts[word] = max(last, count)

    def report(self, sent: Mapping[str, int]) -> Report:
        """Judged against a plain count of what was sent."""
        for word in sorted(sent.keys() | self.counts.keys()):
            expected, counted = sent.get(word, 0), self.counts[word]
            if counted != expected:
                fault = Fault.LOST if counted < expected else Fault.PHANTOM
                self.violations.add(fault, f"word {word}", f"{counted} times, sent {expected}")
        counts = {
            "words sent": sum(sent.values()),
            "words counted": self.words,
            "different words": len(self.counts),
        }
        return Report(counts, dict(self.violations.counts), tuple(self.violations.examples))
