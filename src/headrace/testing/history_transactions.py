"""The history of a read-process-write pipeline, judged: is every input in the output exactly once?

Each input record is a number. A processor reads some, and in one transaction writes a result for
each and commits the offsets. A result says which transaction it belongs to, how many results that
has, and whether it will be aborted on purpose. So the output alone tells of loss, duplicates, torn
transactions and aborted records that were shown, whoever was killed in between.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from headrace.testing.history import Report
from headrace.testing.history_faults import Fault, Violations

FACTOR, SUMMAND = 31, 7
"""What the processors compute; programs in other languages have the same numbers."""
COMMIT, ABORT = "commit", "abort"


def result_of(number: int) -> int:
    return number * FACTOR + SUMMAND


class Result(NamedTuple):
    """One record of the output."""

    number: int
    result: int
    transaction: str
    size: int
    """How many results the transaction has."""
    is_doomed: bool
    """The processor will abort this transaction although nothing is wrong."""

    def to_value(self) -> bytes:
        fate = ABORT if self.is_doomed else COMMIT
        text = f"{self.number} {self.result} {self.transaction} {self.size} {fate}"
        return text.encode()

    @classmethod
    def maybe_from_value(cls, value: bytes) -> Result | None:
        """None if no processor wrote this."""
        try:
            number, result, transaction, size, fate = value.decode().split(" ")
            known = cls(int(number), int(result), transaction, int(size), fate == ABORT)
        except ValueError:
            return None
        return known if known.to_value() == value else None


class PipelineHistory:
    """What was told to the processors and what is in the output, for ``records`` inputs.

    Input number n stands in input partition n modulo ``input_partitions``.
    """

    def __init__(self, records: int, input_partitions: int) -> None:
        self.violations = Violations()
        self._records = records
        self._input_partitions = input_partitions
        self._times_committed: Counter[int] = Counter()
        self._sum_committed = 0
        self._committed: Counter[str] = Counter()
        self._sizes: dict[str, int] = {}
        self._last_numbers: dict[tuple[int, int], int] = {}
        self._uncommitted: set[tuple[int, int]] = set()
        self._uncommitted_doomed = 0
        self._uncommitted_others = 0
        self._committed_places: set[tuple[int, int]] = set()
        self._acknowledged: set[str] = set()
        self._aborted: set[str] = set()

    def acknowledged(self, transaction: str) -> None:
        """The processor was told that the transaction is committed."""
        self._acknowledged.add(transaction)

    def aborted(self, transaction: str) -> None:
        """The processor was told that the transaction is aborted."""
        self._aborted.add(transaction)

    def read_committed(self, partition: int, offset: int, value: bytes) -> None:
        """A read_committed consumer was given this; tell it in the order of the partition."""
        where = f"output-{partition}@{offset}"
        result = self._known(where, value)
        self._committed_places.add((partition, offset))
        if result is None:
            return
        if result.is_doomed or result.transaction in self._aborted:
            self.violations.add(Fault.ABORTED_READ, where, value.decode())
            return
        self._committed[result.transaction] += 1
        self._sizes[result.transaction] = result.size
        self._sum_committed += result.result
        self._times_committed[result.number] += 1
        if self._times_committed[result.number] > 1:
            self.violations.add(Fault.DUPLICATED, where, value.decode())
        self._check_order(partition, where, result)

    def read_uncommitted(self, partition: int, offset: int, value: bytes) -> None:
        """A read_uncommitted consumer was given this."""
        result = self._known(f"output-{partition}@{offset}, uncommitted", value)
        self._uncommitted.add((partition, offset))
        if result is not None and result.is_doomed:
            self._uncommitted_doomed += 1
        elif (partition, offset) not in self._committed_places:
            self._uncommitted_others += 1

    def hanging(self, partition: int, stable_offset: int, end_offset: int) -> None:
        """Everybody has ended, and still the partition has an open transaction."""
        detail = f"stable up to {stable_offset}, the end is {end_offset}"
        self.violations.add(Fault.HANGING, f"output-{partition}", detail)

    def report(self) -> Report:
        """To be called once, when both readings are complete."""
        self._check_complete()
        self._check_whole()
        self._check_readings()
        return Report(
            {
                "input records": self._records,
                "sum of all results": sum(map(result_of, range(self._records))),
                "sum read as committed": self._sum_committed,
                "records read as committed": len(self._committed_places),
                "records read as uncommitted": len(self._uncommitted),
                "of them aborted on purpose": self._uncommitted_doomed,
                "of them aborted otherwise": self._uncommitted_others,
                "transactions committed": len(self._committed),
                "transactions acknowledged": len(self._acknowledged),
                "transactions aborted on purpose": len(self._aborted),
            },
            dict(self.violations.counts),
            tuple(self.violations.examples),
        )

    def _known(self, where: str, value: bytes) -> Result | None:
        result = Result.maybe_from_value(value)
        if result is None or result.result != result_of(result.number):
            self.violations.add(Fault.WRONG_CONTENT, where, repr(value))
            return None
        if not 0 <= result.number < self._records:
            self.violations.add(Fault.PHANTOM, where, value.decode())
            return None
        return result

    def _check_order(self, partition: int, where: str, result: Result) -> None:
        """Of one input partition the results come in its order, also when it changed hands."""
        lane = (result.number % self._input_partitions, partition)
        if result.number < self._last_numbers.get(lane, -1):
            detail = f"{result.number} after {self._last_numbers[lane]}"
            self.violations.add(Fault.REORDERED, where, detail)
        self._last_numbers[lane] = result.number

    def _check_complete(self) -> None:
        for number in range(self._records):
            if number not in self._times_committed:
                self.violations.add(Fault.LOST, "output", f"no result of input {number}")

    def _check_whole(self) -> None:
        for transaction, count in self._committed.items():
            if count != self._sizes[transaction]:
                detail = f"{count} of {self._sizes[transaction]} records"
                self.violations.add(Fault.TORN, f"transaction {transaction}", detail)
        for transaction in self._acknowledged - set(self._committed):
            detail = "its processor was told that it is committed"
            self.violations.add(Fault.LOST, f"transaction {transaction}", detail)

    def _check_readings(self) -> None:
        for partition, offset in sorted(self._committed_places - self._uncommitted):
            detail = "read as committed, absent for read_uncommitted"
            self.violations.add(Fault.VANISHED, f"output-{partition}@{offset}", detail)
