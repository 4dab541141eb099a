"""What an interrupted compaction or deletion left in a log's directory, put right as Kafka does.

``.deleted`` and ``.cleaned`` files are removed. A complete ``.swap`` replaces the segments whose
offsets it covers; a ``.swap`` at or above a ``.cleaned`` one belongs to a step that never finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.storage.batch_walk import walk_headers
from headrace.storage.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    offset_of,
)

if TYPE_CHECKING:
    from headrace.environment.ports import Disk
    from headrace.storage.recovery_report import LogRecovery


LEFTOVER_SUFFIXES = (CLEANED_SUFFIX, DELETED_SUFFIX, SWAP_SUFFIX)
"""No file of a log at rest ends like this."""


def finish_swaps(disk: Disk, directory: str, names: list[str], recovery: LogRecovery) -> None:
    """Leave only whole segments under their proper names."""
    cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
    lowest_cleaned = min((offset_of(name) or 0 for name in cleaned), default=None)
    swaps = []
    for name in names:
        if name.endswith(SWAP_SUFFIX):
            if lowest_cleaned is not None and (offset_of(name) or 0) >= lowest_cleaned:
                cleaned.append(name)
            else:
                swaps.append(name)
    # Swaps first, then the cleaned ones: after another crash the rule above must still hold.
    for name in sorted(cleaned, key=lambda name: name.endswith(CLEANED_SUFFIX)):
        disk.remove(f"{directory}/{name}")
        recovery.note(f"removed {name} of an unfinished compaction")
    for name in names:
        if name.endswith(DELETED_SUFFIX):
            disk.remove(f"{directory}/{name}")
    if swaps:
        _replace_segments(disk, directory, swaps, recovery)


def _replace_segments(disk: Disk, directory: str, swaps: list[str], recovery: LogRecovery) -> None:
    lowest, end = _covered(disk, directory, swaps)
    for name in disk.list(directory):
        offset = offset_of(name)
        if offset is not None and name.endswith(SEGMENT_SUFFIXES) and lowest <= offset < end:
            disk.remove(f"{directory}/{name}")
            recovery.note(f"removed {name}: compaction has replaced it")
    for name in swaps:
        disk.rename(f"{directory}/{name}", f"{directory}/{name.removesuffix(SWAP_SUFFIX)}")
        recovery.note(f"took over {name} of an interrupted compaction")


def _covered(disk: Disk, directory: str, swaps: list[str]) -> tuple[int, int]:
    """The range of offsets that the swapped-in log files hold."""
    lowest, end = 2**63 - 1, -1
    for name in swaps:
        if not name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            continue
        base = offset_of(name) or 0
        lowest, end = min(lowest, base), max(end, base)
        file = disk.open(f"{directory}/{name}")
        for _, header in walk_headers(file, 0, file.size()):
            end = max(end, header[0] + header[6] + 1)
        file.close()
    return lowest, end
