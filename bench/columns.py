"""Record batches to Arrow columns: the compiled loop beside plain Python, on one core.

CPU time, the best of some rounds: what is told is what the decoder can do, not what this machine
was busy with. Checksums are checked; all columns are built.

    python -m bench.columns                     100 B and 1 KiB, uncompressed, zstd and lz4
    python -m bench.columns --records 1000000 --rounds 9
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from random import Random
from typing import NamedTuple

from headrace.records.build import build_batch
from headrace.records.columns import HAS_NUMBA, ColumnDecoder
from headrace.records.compression import Compression
from headrace.records.record import Header, Record

BATCH_BYTES = 64 * 1024
VALUE_SIZES = (100, 1024)
CODECS = (Compression.NONE, Compression.ZSTD, Compression.LZ4)
SMALL_BATCH_RECORDS = 10
WORD_COUNT = 64
WORD_BYTES = 12
FILLER = b" of the same text, "
START_MS = 1_700_000_000_000
PLAIN_SHARE = 0.1
HEADERS = (Header("trace", b"0123456789abcdef"), Header("kind", b"order"), Header("empty", None))
LOAD_PROGRAM = (
    "import time, pyarrow; t = time.perf_counter(); import numba; u = time.perf_counter();"
    "import headrace.records.column_arrays; print(u - t, time.perf_counter() - u)"
)


class Case(NamedTuple):
    """One row of the table."""

    value_bytes: int
    codec: Compression
    batch_records: int
    headers: tuple[Header, ...] = ()

    @property
    def title(self) -> str:
        headers = f", {len(self.headers)} headers" if self.headers else ""
        return (
            f"{self.value_bytes} B, {self.codec.name.lower()}{headers},"
            f" {self.batch_records} records/batch"
        )


def cases() -> list[Case]:
    full = [
        Case(size, codec, BATCH_BYTES // (size + 30)) for size in VALUE_SIZES for codec in CODECS
    ]
    small = [Case(VALUE_SIZES[0], codec, SMALL_BATCH_RECORDS) for codec in CODECS]
    with_headers = Case(VALUE_SIZES[0], Compression.NONE, BATCH_BYTES // 200, HEADERS)
    return [*full, *small, with_headers]


def run_of(case: Case, records: int) -> tuple[bytes, int]:
    """(batches, number of records): text that compresses about as well as log lines do."""
    chance = Random(7)
    words = [chance.randbytes(WORD_BYTES) + FILLER for _ in range(WORD_COUNT)]
    piece_count = case.value_bytes // len(words[0]) + 1
    batches: list[bytes] = []
    offset = 0
    while offset < records:
        content = [
            Record(
                number,
                START_MS + number,
                b"key-%012d" % number,
                b"".join(chance.choices(words, k=piece_count))[: case.value_bytes],
                case.headers,
            )
            for number in range(offset, offset + case.batch_records)
        ]
        batches.append(bytes(build_batch(content, base_offset=offset, compression=case.codec)))
        offset += case.batch_records
    return b"".join(batches), offset


def records_per_second(data: bytes, records: int, rounds: int, *, is_compiled: bool) -> float:
    decoder = ColumnDecoder(is_compiled=is_compiled)
    best = float("inf")
    for _ in range(rounds):
        started = time.process_time()
        columns = decoder.decode(data, start=0, end=records)
        best = min(best, time.process_time() - started)
        if columns.batch.num_rows != records or columns.bad:
            raise SystemExit(f"{columns.batch.num_rows} of {records} rows, bad: {columns.bad[:1]}")
    return records / best


def load_seconds() -> tuple[float, float]:
    """(import of numba, load of the cached loop) in a new process."""
    command = [sys.executable, "-c", LOAD_PROGRAM]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(words[0]), float(words[1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.columns", description=__doc__)
    parser.add_argument("--records", type=int, default=200_000, help="of each case")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not HAS_NUMBA:
        raise SystemExit("numba is not installed: there is nothing to compare")
    print(f"{'case':48} {'compiled':>16} {'plain Python':>16} {'ratio':>6}")
    for case in cases():
        data, records = run_of(case, options.records)
        compiled = records_per_second(data, records, options.rounds, is_compiled=True)
        part, count = run_of(case, int(records * PLAIN_SHARE))
        plain = records_per_second(part, count, 2, is_compiled=False)
        print(
            f"{case.title:48} {compiled / 1e6:9.2f} Mrec/s {plain / 1e6:9.3f} Mrec/s"
            f" {compiled / plain:5.0f}x"
        )
    numba, loop = load_seconds()
    print(f"in a new process: import of numba {numba:.2f} s, load of the cached loop {loop:.2f} s")


if __name__ == "__main__":
    main()
