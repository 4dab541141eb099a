"""Targets: batches that producers send, and the compressed bytes in them.

A batch goes to logs of every demanding kind: compacted, LogAppendTime, own compression, a limit for
old timestamps. It is refused by a named error or stored; then it can be fetched, and looked up by
time, and what was there before stays. Bombs must neither take memory nor time.
"""

from __future__ import annotations

import gzip
import struct

from headrace.model.errors import HeadraceError
from headrace.records.build import build_batch
from headrace.records.compression import Compression, compress, decompress
from headrace.records.header import HEADER_SIZE
from headrace.testing.log_bench import LogBench
from tests.fuzz.restamp import restamp_batch
from tests.fuzz.target import expect

RESTAMPED = 0x80
KIND_MASK = 0x0F
DECOMPRESSED_BYTES_MAX = 1024 * 1024
STORED_BYTES_MAX = 4 * 1024 * 1024
"""A simulated disk keeps every byte in memory, so now and then it is a new one."""
KEPT = b"kept"
SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"cleanup_policy": "compact"},
    {"message_timestamp_type": "LogAppendTime"},
    {"message_timestamp_before_max_ms": "3600000"},
    {"compression_type": "uncompressed"},
    {"compression_type": "gzip"},
    {"compression_type": "snappy"},
    {"compression_type": "lz4"},
    {"compression_type": "zstd"},
    {"durability": "fsync"},
    {"storage": "memory"},
)


class BatchTarget:
    """One byte that chooses the log, then the batch."""

    name = "batch"

    def __init__(self) -> None:
        self._bench: LogBench | None = None
        self._stored = 0

    def _fresh(self) -> LogBench:
        bench = LogBench(settings={"headrace.decompressed.bytes.max": str(DECOMPRESSED_BYTES_MAX)})
        for number, settings in enumerate(SETTINGS):
            log = bench.create(f"log-{number}", **settings)
            batch = build_batch([(b"key", KEPT)], timestamp_ms=bench.clock.now_ms())
            bench.manager.append([(log, batch)])
        self._stored = 0
        return bench

    def seeds(self) -> dict[str, bytes]:
        seeds: dict[str, bytes] = {}
        pairs = [(b"key %d" % number, b"value" * number) for number in range(8)]
        for codec in Compression:
            batch = build_batch(pairs, timestamp_ms=1_700_000_000_000, compression=codec)
            for kind in (0, 1, 4):
                seeds[f"{codec.name.lower()}-{kind}"] = bytes([RESTAMPED | kind]) + batch
            bomb = bytes(batch[:HEADER_SIZE]) + compress(codec, bytes(64 * DECOMPRESSED_BYTES_MAX))
            if len(bomb) < 256 * 1024 and codec != Compression.NONE:
                seeds[f"{codec.name.lower()}-bomb"] = bytes([RESTAMPED | 1]) + bomb
        sequence = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
        batch = build_batch(pairs, timestamp_ms=1_700_000_000_000, **sequence)
        seeds["idempotent"] = b"\x80" + bytes(batch)
        return seeds

    def run(self, data: bytes) -> None:
        choice, batch = (data[0], data[1:]) if data else (0, b"")
        if self._bench is None or self._stored > STORED_BYTES_MAX:
            self._bench = self._fresh()
        bench = self._bench
        if choice & RESTAMPED:
            batch = restamp_batch(batch)
        log = bench.log(f"log-{(choice & KIND_MASK) % len(SETTINGS)}")
        end_offset = log.log_end_offset
        try:
            appended = bench.manager.append([(log, bytearray(batch))])[0]
        except HeadraceError:
            expect(log.log_end_offset == end_offset, "a batch that was refused left a trace")
            return
        finally:
            bench.background.run_all()
        self._stored += len(batch)
        expect(appended.base_offset <= end_offset, "offsets have a hole")
        found = log.read(appended.base_offset, 1, log.high_watermark, at_least_one=True).read()
        expect(len(found) >= HEADER_SIZE, "a batch that was taken cannot be fetched")
        try:
            log.offset_for_timestamp(bench.clock.now_ms() + 1)
        except HeadraceError:
            return  # what the client wrote cannot be read; that is said

    def close(self) -> None:
        """What was there first is still there, in every log."""
        if self._bench is None:
            return
        for number in range(len(SETTINGS)):
            log = self._bench.log(f"log-{number}")
            data = log.read(0, 1, log.high_watermark, at_least_one=True).read()
            found = data if b"snappy" in data else _first_record(data)
            expect(KEPT in found, f"log-{number} lost what was kept")


def _first_record(batch: bytes) -> bytes:
    codec = batch[22] & 0x07
    (length,) = struct.unpack_from(">i", batch, 8)
    return decompress(codec, batch[HEADER_SIZE : 12 + length], DECOMPRESSED_BYTES_MAX)


class CompressedTarget:
    """One byte that chooses the codec, then what claims to be compressed by it."""

    name = "compressed"

    def seeds(self) -> dict[str, bytes]:
        text = b"the same again, " * 300
        seeds = {c.name.lower(): bytes([c]) + compress(c, text) for c in Compression}
        seeds["gzip-members"] = b"\x01" + gzip.compress(b"") * 200
        seeds["snappy-raw"] = b"\x02" + compress(Compression.SNAPPY, text)[20:]
        for codec in (Compression.GZIP, Compression.LZ4, Compression.ZSTD):
            bomb = compress(codec, bytes(16 * DECOMPRESSED_BYTES_MAX))
            seeds[f"{codec.name.lower()}-bomb"] = bytes([codec]) + bomb
        return {name: data for name, data in seeds.items() if len(data) < 128 * 1024}

    def run(self, data: bytes) -> None:
        if not data:
            return
        try:
            found = decompress(data[0] & 0x07, data[1:], DECOMPRESSED_BYTES_MAX)
        except HeadraceError:
            return
        expect(len(found) <= DECOMPRESSED_BYTES_MAX, f"{len(found)} bytes came out")

    def close(self) -> None:
        """Nothing is kept."""


TARGETS = (BatchTarget(), CompressedTarget())
