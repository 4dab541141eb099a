"""Rows against messages: the one judge of the outbox run, without a database or a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.testing.history import Report
from headrace.testing.history_faults import Fault, Violations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Received(NamedTuple):
    """What the far end has counted of one account."""

    messages: int
    sum_of_versions: int


def judge(
    versions: Mapping[int, int],
    sent: Mapping[int, Sequence[int]],
    received: Mapping[int, Received],
) -> Report:
    """``versions``: committed changes per account. ``sent``: versions in the topic, in order."""
    violations = Violations()
    for account in sorted(versions.keys() | sent.keys() | received.keys()):
        version = versions.get(account, 0)
        _judge_topic(violations, account, version, sent.get(account, ()))
        expected = Received(version, version * (version + 1) // 2)
        found = received.get(account, Received(0, 0))
        if found != expected:
            fault = Fault.LOST if found.messages < expected.messages else Fault.DUPLICATED
            violations.add(fault, f"far end, account {account}", f"{found}, not {expected}")
    counts = {
        "rows committed": sum(versions.values()),
        "messages in the topic": sum(map(len, sent.values())),
        "messages handled at the far end": sum(one.messages for one in received.values()),
    }
    return Report(counts, dict(violations.counts), tuple(violations.examples))


def _judge_topic(violations: Violations, account: int, version: int, sent: Sequence[int]) -> None:
    where = f"topic, account {account}"
    if missing := set(range(1, version + 1)) - set(sent):
        violations.add(Fault.LOST, where, f"no message of {min(missing)}", len(missing))
    if invented := set(sent) - set(range(1, version + 1)):
        violations.add(Fault.PHANTOM, where, f"no row of {min(invented)}", len(invented))
    if repeated := len(sent) - len(set(sent)):
        violations.add(Fault.DUPLICATED, where, f"{len(sent)} messages", repeated)
    if list(sent) != sorted(sent):
        violations.add(Fault.REORDERED, where, "versions do not rise")
