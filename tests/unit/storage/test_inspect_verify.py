"""A sound directory has no findings; each kind of damage has its own."""

from __future__ import annotations

import struct

import pytest

from headrace.model.errors import InvalidRequest
from headrace.records.build import build_batch
from headrace.storage import inspect_verify
from headrace.storage.inspect_verify import Finding, FindingKind, verify
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.storage_bench import DATA, StorageBench

ABORT = (struct.pack(">hh", 0, 0), struct.pack(">hi", 0, 0))
DIRECTORY = f"{DATA}/topic-0"
FIRST = f"{DIRECTORY}/00000000000000000000"


@pytest.fixture
def bench() -> StorageBench:
    """A log with several segments, indexes, snapshots and an aborted transaction, closed."""
    bench = StorageBench()
    log = bench.log(internal_segment_bytes=600, index_interval_bytes=100)
    fields = {"producer_id": 9, "producer_epoch": 0, "transactional": True}
    bench.append(log, (b"k", b"aborted"), base_sequence=0, **fields)
    bench.append(log, ABORT, control=True, **fields)
    for number in range(20):
        bench.append(log, (b"k", b"%d" % number), (b"l", b"x"))
        bench.clock.advance_ms(10)
    bench.manager.close()
    assert len(log.segments) > 2
    return bench


def kinds(findings: list[Finding]) -> list[FindingKind]:
    return [finding.kind for finding in findings]


def test_a_sound_directory_has_no_findings(bench: StorageBench) -> None:
    assert verify(bench.disk, DATA) == []
    assert verify(bench.disk, DIRECTORY + "/") == []
    names = bench.disk.list(DIRECTORY)
    assert {name[20:] for name in names if name.startswith("0")} >= {".log", ".index", ".txnindex"}
    for name in names:
        assert verify(bench.disk, f"{DIRECTORY}/{name}") == []


def test_a_flipped_bit_is_a_bad_checksum(bench: StorageBench) -> None:
    bench.disk.rot(FIRST + ".log", 70)
    (finding,) = verify(bench.disk, DIRECTORY)
    assert finding == Finding(
        FIRST + ".log", FindingKind.BAD_CHECKSUM, 0, "batch with offsets 0 to 0"
    )


def test_every_flipped_bit_of_a_log_is_found_or_harmless(bench: StorageBench) -> None:
    for position in range(bench.disk.size(FIRST + ".log")):
        bench.disk.rot(FIRST + ".log", position, 0x40)
        findings = verify(bench.disk, FIRST + ".log")
        assert findings or _is_leader_epoch(bench, position)
        bench.disk.rot(FIRST + ".log", position, 0x40)
    assert verify(bench.disk, DIRECTORY) == []


def _is_leader_epoch(bench: StorageBench, position: int) -> bool:
    """The one field that neither the checksum nor the order of offsets covers."""
    start = 0
    data = bench.disk.read_file(FIRST + ".log")
    while start + 12 <= position:
        (length,) = struct.unpack_from(">i", data, start + 8)
        if start + 12 <= position < start + 16:
            return True
        start += length + 12
    return False


def test_a_cut_log_has_a_torn_tail_and_an_index_that_points_nowhere(bench: StorageBench) -> None:
    file = bench.disk.open(FIRST + ".log")
    file.truncate(file.size() - 3)
    assert set(kinds(verify(bench.disk, DIRECTORY))) >= {FindingKind.TORN_TAIL}
    file.truncate(150)
    found = kinds(verify(bench.disk, FIRST + ".log"))
    assert FindingKind.INDEX_POINTS_NOWHERE in found
    assert FindingKind.TIME_INDEX_WRONG in found


def test_garbage_in_the_middle_is_no_batch(bench: StorageBench) -> None:
    bench.disk.open(FIRST + ".log").write_at(100, b"\xff" * 200)
    assert FindingKind.NO_BATCH in kinds(verify(bench.disk, FIRST + ".log"))


def alone(batches: bytes, name: str = "00000000000000000005.log") -> list[FindingKind]:
    disk = FaultyDisk()
    disk.make_directory("/d")
    disk.replace_file(f"/d/{name}", batches)
    return kinds(verify(disk, f"/d/{name}"))


def test_offsets_must_rise_from_the_name_on() -> None:
    five, six = (
        build_batch([(b"k", b"v")], base_offset=5),
        build_batch([(b"k", b"v")], base_offset=6),
    )
    assert alone(bytes(five + six)) == []
    assert alone(bytes(six + five)) == [FindingKind.OFFSETS_NOT_RISING]
    assert alone(bytes(build_batch([(b"k", b"v")], base_offset=4))) == [
        FindingKind.OFFSETS_NOT_RISING
    ]


def test_records_that_contradict_their_header_are_bad() -> None:
    batch = build_batch([(b"k", b"v")] * 3, base_offset=5, last_offset=6)
    assert alone(bytes(batch)) == [FindingKind.BAD_RECORDS]


def test_overlapping_segments_are_found() -> None:
    disk = FaultyDisk()
    disk.make_directory("/d")
    for base in (0, 1):
        batch = build_batch([(b"k", b"v")] * 2, base_offset=base)
        disk.replace_file(f"/d/{base:020d}.log", batch)
    assert kinds(verify(disk, "/d")) == [FindingKind.SEGMENTS_OVERLAP]


@pytest.mark.parametrize(
    ("suffix", "entry", "kind"),
    [
        (".index", struct.pack(">ii", 99, 1), FindingKind.INDEX_NOT_RISING),
        (".index", struct.pack(">ii", 99, 9999), FindingKind.INDEX_POINTS_NOWHERE),
        (".timeindex", struct.pack(">qi", 1, 99), FindingKind.TIME_INDEX_NOT_RISING),
        (".timeindex", struct.pack(">qi", 1 << 50, 99), FindingKind.TIME_INDEX_WRONG),
        (".txnindex", struct.pack(">hqqqq", 0, 1, 9, 5, 1), FindingKind.TRANSACTION_INDEX_WRONG),
        (".txnindex", struct.pack(">hqqqq", 0, 1, 9, 999, 1), FindingKind.TRANSACTION_INDEX_WRONG),
        (".index", b"\x01", FindingKind.INDEX_UNREADABLE),
    ],
)
def test_a_wrong_entry_is_found(
    bench: StorageBench, suffix: str, entry: bytes, kind: FindingKind
) -> None:
    file = bench.disk.open(FIRST + suffix)
    file.write_at(file.size(), entry)
    (finding,) = verify(bench.disk, DIRECTORY)
    assert (finding.path, finding.kind) == (FIRST + suffix, kind)


def test_an_index_entry_between_two_batches_points_nowhere(bench: StorageBench) -> None:
    file = bench.disk.open(FIRST + ".index")
    offset, position = struct.unpack(">ii", file.read_at(0, 8))
    file.write_at(0, struct.pack(">ii", offset, position + 1))
    assert kinds(verify(bench.disk, DIRECTORY)) == [FindingKind.INDEX_POINTS_NOWHERE]
    file.write_at(0, struct.pack(">ii", offset - 1, position))
    assert kinds(verify(bench.disk, DIRECTORY)) == [FindingKind.INDEX_POINTS_NOWHERE]


def test_other_files_are_judged_too(bench: StorageBench) -> None:
    bench.disk.replace_file(f"{DATA}/recovery-point-offset-checkpoint", b"0\n5\n")
    bench.disk.replace_file(f"{DIRECTORY}/00000000000000000099.index", b"")
    bench.disk.replace_file(f"{DIRECTORY}/00000000000000000000.log.swap", b"")
    snapshot = next(n for n in bench.disk.list(DIRECTORY) if n.endswith(".snapshot"))
    bench.disk.rot(f"{DIRECTORY}/{snapshot}", 8)
    assert set(kinds(verify(bench.disk, DATA))) == {
        FindingKind.CHECKPOINT_UNREADABLE,
        FindingKind.ORPHAN_INDEX,
        FindingKind.LEFT_OVER,
        FindingKind.SNAPSHOT_UNREADABLE,
    }


def test_findings_are_bounded(bench: StorageBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_verify, "FINDINGS_MAX", 2)
    for position in (70, 180, 260):
        bench.disk.rot(FIRST + ".log", position)
    found = kinds(verify(bench.disk, DATA))
    assert len(found) == 3
    assert found[-1] is FindingKind.TOO_MANY


def test_verifying_changes_nothing(bench: StorageBench) -> None:
    operations = bench.disk.operations
    verify(bench.disk, DATA)
    assert bench.disk.operations == operations


def test_unknown_files_are_refused(bench: StorageBench) -> None:
    bench.disk.replace_file("/data/notes.txt", b"")
    with pytest.raises(InvalidRequest):
        verify(bench.disk, "/data/notes.txt")
    assert verify(bench.disk, DATA) == []
