"""Files with damage that looks plausible: each of these was once found by the fuzz targets."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c

from headrace.environment.real import RealChance
from headrace.model.errors import DamagedLog, InvalidConfig
from headrace.storage.file_names import CLEAN_SHUTDOWN
from headrace.storage.metadata_files import META_PROPERTIES, read_meta_properties
from headrace.storage.offset_index import ENTRY
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.log_bench import DIRECTORY, LogBench, read_records, read_values

BATCHES = 40
VALUES = [b"value %d" % number for number in range(BATCHES)]
FIRST_SEGMENT = f"{DIRECTORY}/t-0/{0:020d}"


def written(**settings: str) -> LogBench:
    """One record per batch in several segments, with an index entry for nearly each."""
    bench = LogBench()
    log = bench.create(internal_segment_bytes="1000", index_interval_bytes="1", **settings)
    for value in VALUES:
        bench.clock.advance(1)
        bench.append(log, [value])
    return bench


def damaged_file(bench: LogBench, path: str, data: bytes) -> None:
    bench.disk.replace_file(path, data)


def entries_of(bench: LogBench, base_offset: int) -> list[tuple[int, int]]:
    data = bench.disk.read_file(f"{DIRECTORY}/t-0/{base_offset:020d}.index")
    return [(relative, position) for relative, position in ENTRY.iter_unpack(data)]


def write_entries(bench: LogBench, base_offset: int, entries: list[tuple[int, int]]) -> None:
    data = b"".join(ENTRY.pack(*entry) for entry in entries)
    damaged_file(bench, f"{DIRECTORY}/t-0/{base_offset:020d}.index", data)


def led_astray(entries: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ascending, inside the file, and at batches: but at later ones than they say."""
    moved = [
        (relative, position)
        for (relative, _), (_, position) in zip(entries[:-3], entries[3:], strict=True)
    ]
    assert moved
    return moved


def test_a_rotten_index_hides_no_record_after_a_clean_stop():
    bench = written()
    bench.stop()
    write_entries(bench, 0, led_astray(entries_of(bench, 0)))
    bench.start()
    assert read_values(bench.log()) == VALUES
    for offset in range(BATCHES):
        assert read_records(bench.log(), offset)[0].offset == offset


def test_a_rotten_index_hides_no_record_after_a_crash():
    """The recovery point lies in the segment, so the scan begins where the index leads."""
    bench = LogBench()
    log = bench.create(index_interval_bytes="1")
    for value in VALUES[:30]:
        bench.append(log, [value])
    log.flush()
    bench.write_checkpoints()
    for value in VALUES[30:]:
        bench.append(log, [value])
    write_entries(bench, 0, led_astray(entries_of(bench, 0)))
    report = bench.kill_and_start()
    assert read_values(bench.log()) == VALUES
    assert any("leads astray" in line for line in report.lines())


def test_records_before_the_damage_are_served_after_a_clean_stop():
    bench = written()
    bench.stop()
    path = f"{FIRST_SEGMENT}.log"
    data = bytearray(bench.disk.read_file(path))
    size = len(data) // 2
    damaged_file(bench, path, data[:size] + b"\xee" * (len(data) - size))
    bench.start()
    log = bench.log()
    first = read_records_of_one_fetch(bench)
    assert first == VALUES[: len(first)]
    assert len(first) > 3
    with pytest.raises(DamagedLog):
        log.read(len(first) + 1, 1000, log.high_watermark, at_least_one=True)


def read_records_of_one_fetch(bench: LogBench) -> list[bytes]:
    """The values that lie whole in what one fetch brings."""
    log = bench.log()
    data = log.read(0, 1 << 20, log.high_watermark, at_least_one=True).read()
    return [value for value in VALUES if value + b"\x00" in data]


def test_indexes_are_rebuilt_over_offsets_that_no_segment_can_have():
    """Offsets are not covered by the checksum."""
    bench = written()
    bench.stop()
    path = f"{FIRST_SEGMENT}.log"
    data = bytearray(bench.disk.read_file(path))
    second = 12 + struct.unpack_from(">i", data, 8)[0]
    struct.pack_into(">q", data, second, 2**62)
    damaged_file(bench, path, bytes(data))
    damaged_file(bench, f"{FIRST_SEGMENT}.index", b"\x00\x00\x00")
    bench.start()
    log = bench.log()
    assert VALUES[0] in log.read(0, 1, log.high_watermark, at_least_one=True).read()
    with pytest.raises(DamagedLog):
        log.read(1, 1, log.high_watermark, at_least_one=True)


@pytest.mark.parametrize(("place", "mask"), [(70, 1), (22, 5)], ids=["length", "compression"])
def test_a_rotten_marker_does_not_keep_the_broker_from_starting(place: int, mask: int):
    bench = LogBench()
    log = bench.create(internal_segment_bytes="400")
    fields = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 0}
    bench.append(log, [b"transactional"], transactional=True, **fields)
    position = log.size_bytes
    bench.append_marker(log, 9, abort=True)
    for value in VALUES:
        bench.append(log, [value])
    bench.write_checkpoints()
    for name in bench.disk.list(f"{DIRECTORY}/t-0"):
        if name.endswith(".snapshot"):
            bench.disk.remove(f"{DIRECTORY}/t-0/{name}")
    bench.disk.rot(f"{FIRST_SEGMENT}.log", position + place, mask)
    report = bench.kill_and_start()
    assert any("is not known" in line for line in report.lines())
    assert read_values(bench.log(), 2) == VALUES


@pytest.mark.parametrize(
    "payload",
    [struct.pack(">IH", 1, 2) + b"\xc3\x28", struct.pack(">I", 2**31), b"\x00\x00\x00\x01"],
    ids=["no text", "too many entries", "cut off"],
)
def test_a_frame_with_a_right_checksum_that_nobody_wrote(payload: bytes):
    bench = LogBench()
    log = bench.create(durability="fsync")
    bench.append(log, [b"before"])
    name = next(n for n in bench.disk.list(DIRECTORY) if n.startswith("headrace-write-ahead"))
    path = f"{DIRECTORY}/{name}"
    data = bytearray(bench.disk.read_file(path))
    length, _, generation, number = struct.unpack_from(">IIQQ", data, 32)
    place = 32 + 24 + length
    tail = struct.pack(">QQ", generation, number + 1) + payload
    frame = struct.pack(">II", len(payload), crc32c(tail)) + tail
    data[place : place + len(frame)] = frame
    damaged_file(bench, path, bytes(data))
    assert not bench.disk.exists(f"{DIRECTORY}/{CLEAN_SHUTDOWN}")
    bench.kill_and_start()
    assert read_values(bench.log()) == [b"before"]
    assert bench.append(bench.log(), [b"after"]).base_offset == 1


@pytest.mark.parametrize("node_id", ["-1", "99999999999"])
def test_a_node_id_that_no_record_can_hold(node_id: str):
    disk = FaultyDisk()
    disk.make_directory(DIRECTORY)
    text = f"cluster.id=c\nnode.id={node_id}\nversion=1\n"
    disk.replace_file(f"{DIRECTORY}/{META_PROPERTIES}", text.encode())
    with pytest.raises(InvalidConfig, match=r"node\.id"):
        read_meta_properties(disk, DIRECTORY, RealChance())
