"""One bit of one file flipped between a stop and the next start, in every kind of file.

What can be found again from the records may cost time, but no record. In the records themselves a
flipped bit is never served as good. What the metadata lost must be said.
"""

from __future__ import annotations

from enum import Enum
from random import Random
from typing import TYPE_CHECKING

from headrace.model.errors import CorruptRecord, DamagedLog, HeadraceError, InvalidConfig
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.storage_judge import judge
from headrace.testing.storage_node import DATA
from headrace.testing.storage_workload import StorageWorkload

if TYPE_CHECKING:
    from headrace.model.topic import TopicPartition

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", "checkpoint")


class RottenKind(Enum):
    """Kinds of files, by what a flipped bit may do."""

    RECORDS = "records"
    DERIVED = "derived file"
    LOG_STARTS = "log starts"
    """Text without a checksum, as Kafka has it: records may be hidden, or shown again."""
    RECOVERY_POINTS = "recovery points"
    """Under fsync, what neither they nor the write-ahead log vouch for is cut after a crash."""
    WRITE_AHEAD_LOG = "write-ahead log"
    METADATA = "metadata log"


def kind_of(path: str) -> RottenKind | None:
    """None for files without a second place that say whose a directory is, or what it promises."""
    name = path.rsplit("/", 1)[-1]
    if "__cluster_metadata" in path:
        return RottenKind.METADATA
    if name.startswith("headrace-write-ahead"):
        return RottenKind.WRITE_AHEAD_LOG
    if name.endswith(".log"):
        return RottenKind.RECORDS
    if name == "log-start-offset-checkpoint":
        return RottenKind.LOG_STARTS
    if name == "recovery-point-offset-checkpoint":
        return RottenKind.RECOVERY_POINTS
    if name == "headrace-fsync-checkpoint" or not name.endswith(SUFFIXES):
        return None
    return RottenKind.DERIVED


def files_after_stop(seed: int, *, is_clean: bool) -> list[str]:
    """All files that a workload leaves, in order."""
    return _all_files(_stopped(seed, is_clean).disk, DATA)


def rot_one_bit(seed: int, path: str, place: int, *, is_clean: bool) -> RottenKind | None:
    """Stop, flip a bit, start and judge; the kind of file that was hit, None if it is none."""
    workload = _stopped(seed, is_clean)
    disk, kind = workload.disk, kind_of(path)
    size = disk.size(path)
    if kind is None or not size:
        return None
    chance = Random(f"{seed} {path} {place}")
    position, mask = chance.randrange(size), 1 << chance.randrange(8)
    disk.rot(path, position, mask)
    try:
        _judge_rotten(workload, kind, path, is_clean)
    except Exception as error:
        error.add_note(f"seed {seed}, {path}, byte {position}, mask {mask}, clean {is_clean}")
        raise
    return kind


def _judge_rotten(workload: StorageWorkload, kind: RottenKind, path: str, is_clean: bool) -> None:
    node = workload.node
    try:
        node.start()
    except (DamagedLog, CorruptRecord, InvalidConfig):
        assert kind is RottenKind.METADATA, f"a rotten {kind.value} keeps the node from starting"
        return
    if kind is RottenKind.METADATA:
        assert node.store.notices or _is_unharmed(workload), "lost metadata without a word"
        return
    damaged: set[TopicPartition] = set()
    if kind in (RottenKind.WRITE_AHEAD_LOG, RottenKind.LOG_STARTS):
        damaged = {log.partition for log in node.logs.logs()}
    elif kind is RottenKind.RECOVERY_POINTS and not is_clean:
        damaged = {log.partition for log in node.logs.logs() if log.is_synced}
    elif kind is RottenKind.RECORDS:
        damaged = {log.partition for log in node.logs.logs() if f"/{log.partition}/" in path}
    if path.endswith(".txnindex"):
        # Kafka's format has no checksum here: an abort may be forgotten, a record may not.
        for history in workload.clients.histories.values():
            history.aborted.clear()
    try:
        judge(node, workload.clients, workload.metadata, power_lost=False, damaged=damaged)
    except HeadraceError:
        # Records that were on the medium long ago: who reads them is told.
        assert kind is RottenKind.RECORDS, f"a rotten {kind.value} makes records unreadable"


def _is_unharmed(workload: StorageWorkload) -> bool:
    judge(workload.node, workload.clients, workload.metadata, power_lost=False)
    return True


def _stopped(seed: int, is_clean: bool) -> StorageWorkload:
    workload = StorageWorkload(FaultyDisk(seed), seed)
    workload.run()
    workload.node.background.run_all()
    workload.look()
    if is_clean:
        assert workload.stop()
    workload.disk.kill()
    return workload


def _all_files(disk: FaultyDisk, directory: str) -> list[str]:
    found: list[str] = []
    for name in disk.list(directory):
        path = f"{directory}/{name}"
        found += _all_files(disk, path) if disk.is_directory(path) else [path]
    return found
