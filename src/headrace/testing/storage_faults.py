"""A storage workload again and again, with a fault at each of its operations in turn.

``fault_everywhere`` runs one kind of fault; it counts the points it tried, and says in a failure
which point it was: the kind, the seed and the number repeat it exactly.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import TYPE_CHECKING

from headrace.testing.faulty_disk import CRASH_POINTS_MAX, FaultyDisk, SimulatedCrash
from headrace.testing.simulated_medium import PAGE_BYTES, SECTOR_BYTES
from headrace.testing.storage_workload import StorageWorkload

if TYPE_CHECKING:
    from collections.abc import Callable

CRASHES_IN_RECOVERY_MAX = 3
RECOVERY_OPERATIONS = 60
"""The second crash comes within so many operations of the recovery, or soon after it."""
LONG_STRIDE = 3
FULL_OPERATIONS = 25
"""The disk has room again after so many operations."""


class Ending(Enum):
    """What follows on a workload that ran to its end in spite of a fault."""

    STOP = "clean stop"
    KILL = "kill"
    POWER_LOSS = "power loss"


@dataclass(frozen=True)
class FaultKind:
    """``plan`` tells a disk to do something at a point; a crash is by kill or by power loss."""

    name: str
    plan: Callable[[FaultyDisk, int], None]
    power_loss: bool = False
    entries_in_order: bool = True
    is_slow: bool = False
    crashes_again: bool = False
    endings: tuple[Ending, ...] = ()
    counts_reads: bool = False


def _crash(disk: FaultyDisk, point: int) -> None:
    disk.crash_at(point)


def _fail(disk: FaultyDisk, point: int) -> None:
    disk.fail_at(point)


def _fail_read(disk: FaultyDisk, point: int) -> None:
    disk.fail_read_at(point)


def _fill_up(disk: FaultyDisk, point: int) -> None:
    disk.fill_up_at(point, FULL_OPERATIONS)


KILL = FaultKind("kill", _crash)
SLOW_KILL = FaultKind("kill during slow syncs", _crash, is_slow=True)
POWER_LOSS = FaultKind("power loss", _crash, power_loss=True)
POWER_LOSS_ANY_ORDER = FaultKind(
    "power loss, names in any order", _crash, power_loss=True, entries_in_order=False
)
SLOW_POWER_LOSS = FaultKind(
    "power loss during slow syncs",
    _crash,
    power_loss=True,
    entries_in_order=False,
    is_slow=True,
)
POWER_LOSS_TWICE = FaultKind(
    "power loss, and again in the recovery",
    _crash,
    power_loss=True,
    entries_in_order=False,
    crashes_again=True,
)
KILL_TWICE = FaultKind("kill, and again in the recovery", _crash, crashes_again=True)
FAILED_OPERATION = FaultKind("failed operation", _fail, endings=tuple(Ending))
FAILED_READ = FaultKind("failed read", _fail_read, endings=tuple(Ending), counts_reads=True)
DISK_FULL = FaultKind("disk full", _fill_up, endings=tuple(Ending))

ALL_KINDS = [
    POWER_LOSS,
    POWER_LOSS_ANY_ORDER,
    SLOW_POWER_LOSS,
    POWER_LOSS_TWICE,
    KILL,
    SLOW_KILL,
    KILL_TWICE,
    FAILED_OPERATION,
    FAILED_READ,
    DISK_FULL,
]


def fault_everywhere(
    kind: FaultKind, seed: int, *, first: int = 0, stride: int = 1
) -> Counter[str]:
    """Try every ``stride``-th point of the workload; how many, by the name of what was hit."""
    counts: Counter[str] = Counter()
    for point in range(first, CRASH_POINTS_MAX, stride):
        hit = fault_at(kind, seed, point)
        if hit is None:
            return counts
        counts[hit] += 1
    raise AssertionError(f"the workload takes more than {CRASH_POINTS_MAX} operations")


def fault_at(kind: FaultKind, seed: int, point: int) -> str | None:
    """One run with the fault at one point; the name of the fault, None if it never came."""
    disk = FaultyDisk(
        seed * CRASH_POINTS_MAX + point,
        unit_bytes=SECTOR_BYTES if (seed + point) % 2 else PAGE_BYTES,
        entries_in_order=kind.entries_in_order,
    )
    workload = StorageWorkload(disk, seed, is_slow=kind.is_slow)
    kind.plan(disk, point)
    place = f"{kind.name}, seed {seed}, point {point}"
    try:
        try:
            workload.run()
        except SimulatedCrash as crash:
            place += f": {crash}"
            _come_back(workload, kind, point)
            return kind.name
        if point >= (disk.reads if kind.counts_reads else disk.operations):
            return None
        hit = kind.name
        if kind is FAILED_OPERATION:
            operation = disk.history[point]
            place += f": {operation}"
            hit = f"failed {operation.split()[1]}"
        ending = kind.endings[(seed + point) % len(kind.endings)]
        _end(workload, ending)
        return hit
    except Exception as error:
        error.add_note(place)
        raise


def _come_back(workload: StorageWorkload, kind: FaultKind, point: int) -> None:
    """After the crash: recover, perhaps through further crashes, and go on. Every third time:
    crash once more, because what a recovery leaves behind must be as safe as what it found."""
    chance = Random(point)
    workload.look_back()
    _lose(workload.disk, kind.power_loss)
    for _ in range(CRASHES_IN_RECOVERY_MAX if kind.crashes_again else 0):
        workload.disk.crash_at(chance.randrange(RECOVERY_OPERATIONS))
        try:
            workload.recover(power_lost=kind.power_loss)
            workload.live_on()
        except SimulatedCrash:
            workload.look_back()
        _lose(workload.disk, kind.power_loss)
    workload.recover(power_lost=kind.power_loss)
    workload.live_on()
    if point % LONG_STRIDE == 0:
        _lose(workload.disk, kind.power_loss)
        workload.recover(power_lost=kind.power_loss)
        _stop_and_start(workload)


def _end(workload: StorageWorkload, ending: Ending) -> None:
    if ending is Ending.STOP:
        workload.restart()
    else:
        workload.look_back()
        _lose(workload.disk, ending is Ending.POWER_LOSS)
        workload.recover(power_lost=ending is Ending.POWER_LOSS)
    workload.live_on()
    _lose(workload.disk, True)
    workload.recover(power_lost=True)
    _stop_and_start(workload)


def _lose(disk: FaultyDisk, power: bool) -> None:
    if power:
        disk.crash()
    else:
        disk.kill()


def _stop_and_start(workload: StorageWorkload) -> None:
    """A clean stop leaves nothing to mend."""
    assert workload.stop(), "a stop on a sound disk failed"
    workload.recover(power_lost=False)
    report = workload.node.report
    assert report.is_clean, f"not clean after a clean stop: {report.lines()}"
