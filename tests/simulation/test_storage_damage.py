"""A megabyte of log with one bit flipped anywhere, or its tail cut anywhere.

Whatever is hit: recovery never serves a wrong record, never loses one before the damage, and says
what it did. ``HEADRACE_TEST_DAMAGE_PLACES`` sets how many places are tried in the long run.
"""

from __future__ import annotations

import os
from functools import cache
from random import Random

import pytest

from headrace.records.header import batches
from headrace.testing.faulty_disk import FaultyDisk
from headrace.testing.log_bench import LogBench, read_records

LOG_BYTES = 1024 * 1024
PLACES = 20
PLACES_IN_THE_LONG_RUN = int(os.environ.get("HEADRACE_TEST_DAMAGE_PLACES", "1000"))
SEED = 20_260_801


class Original:
    """The sound log: its files, and where each batch lies."""

    def __init__(self) -> None:
        bench = LogBench()
        log = bench.create(internal_segment_bytes="300000")
        chance = Random(SEED)
        self.values: list[bytes] = []
        while log.size_bytes < LOG_BYTES:
            value = chance.randbytes(chance.randrange(1, 2000))
            bench.append(log, [value])
            self.values.append(value)
        log.active.write_indexes()
        self.specs = bench.specs
        names = bench.disk.list("data/t-0")
        self.files = {name: bench.disk.read_file(f"data/t-0/{name}") for name in names}
        self.logs = [name for name in names if name.endswith(".log")]
        self.size = sum(len(self.files[name]) for name in self.logs)

    def place(self, position: int) -> tuple[str, int]:
        """The file and the place in it of a byte of the whole log."""
        for name in self.logs:
            if position < len(self.files[name]):
                return name, position
            position -= len(self.files[name])
        raise AssertionError("beyond the log")

    def count_before(self, name: str, position: int) -> int:
        """Batches that lie wholly before a place."""
        count = 0
        for other in self.logs:
            for start, header in batches(self.files[other]):
                if other == name and start + header.size_bytes > position:
                    return count
                count += 1
        return count

    def disk_with(self, changed: dict[str, bytes]) -> FaultyDisk:
        disk = FaultyDisk()
        disk.make_directory("data/t-0")
        for name, data in {**self.files, **changed}.items():
            disk.replace_file(f"data/t-0/{name}", data, sync=False)
        return disk


@cache
def original() -> Original:
    return Original()


def recover_and_check(sound: Original, changed: dict[str, bytes], least: int, what: str) -> None:
    bench = LogBench(sound.disk_with(changed), specs=sound.specs)
    report = bench.report
    log = bench.log()
    found = read_records(log)
    assert [r.offset for r in found] == list(range(len(found))), what
    assert [r.value for r in found] == sound.values[: len(found)], what
    assert len(found) >= least, what
    assert log.log_end_offset == len(found), what
    if len(found) < len(sound.values):
        assert any("cut" in line for line in report.lines()), what
        assert report.details[0].cut_bytes > 0, what
        assert "cut" in str(report)
    appended = bench.append(log, [b"next"])
    assert appended.base_offset == len(found), what


def flip_bits(count: int) -> None:
    sound, chance = original(), Random(SEED)
    for _ in range(count):
        name, position = sound.place(chance.randrange(sound.size))
        data = bytearray(sound.files[name])
        data[position] ^= 1 << chance.randrange(8)
        least = sound.count_before(name, position)
        recover_and_check(sound, {name: bytes(data)}, least, f"bit flipped at {name}:{position}")


def cut_tails(count: int) -> None:
    sound, chance = original(), Random(SEED)
    name = sound.logs[-1]
    for _ in range(count):
        length = chance.randrange(len(sound.files[name]))
        least = sound.count_before(name, length)
        changed = {name: sound.files[name][:length]}
        recover_and_check(sound, changed, least, f"tail cut at {name}:{length}")


def test_a_flipped_bit_is_never_served():
    flip_bits(PLACES)


def test_a_cut_tail_loses_only_what_was_cut():
    cut_tails(PLACES)


def test_every_bit_of_a_header_is_guarded():
    sound = original()
    name = sound.logs[1]
    starts = [start for start, _ in batches(sound.files[name])]
    for place in range(0, 61):
        position = starts[len(starts) // 2] + place
        data = bytearray(sound.files[name])
        data[position] ^= 1 << (place % 8)
        least = sound.count_before(name, position)
        recover_and_check(sound, {name: bytes(data)}, least, f"header byte {place} flipped")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_flipped_bits_are_never_served():
    flip_bits(PLACES_IN_THE_LONG_RUN)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_cut_tails_lose_only_what_was_cut():
    cut_tails(PLACES_IN_THE_LONG_RUN)
