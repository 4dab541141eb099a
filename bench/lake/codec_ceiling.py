"""How many rows a second the Parquet codec alone allows: `python -m bench.lake.codec_ceiling`.

The keys and values of the bench, already in memory and already laid out as Parquet wants them, are
compressed page by page, by as many processes as the drivers have cores; nothing is read, decoded or
written. No way to Parquet files with this codec can be faster on the same machine.
"""

from __future__ import annotations

import argparse
import random
import struct
import time
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from bench.lake.batches import SEED, event_values, key
from bench.lake.shapes import SHAPES, Shape

CORES = 2
"""As those of the drivers: `local[2]`."""
PAGE_BYTES = 1024 * 1024
SAMPLE_BYTES = 64 * 1024 * 1024
SECONDS = 4.0
LEVELS = {"zstd": 1}
_LENGTH = struct.Struct("<i")


class Ceiling(NamedTuple):
    """Of all cores together."""

    rows_per_second: float
    ratio: float


def pages_of(shape: Shape) -> tuple[list[bytes], int]:
    """Plain pages of keys and of values, and how many rows they hold."""
    chance = random.Random(SEED)
    values = event_values(shape.value_bytes, chance)
    rows = SAMPLE_BYTES // shape.record_bytes
    columns = [
        b"".join(_LENGTH.pack(len(item)) + item for item in items)
        for items in ([key(chance) for _ in range(rows)], [next(values) for _ in range(rows)])
    ]
    pages = [
        column[first : first + PAGE_BYTES]
        for column in columns
        for first in range(0, len(column), PAGE_BYTES)
    ]
    return pages, rows


def compress_for(shape: Shape, codec: str, seconds: float) -> Ceiling:
    """One core's share."""
    pages, rows = pages_of(shape)
    codec_of_arrow = pa.Codec(codec, LEVELS.get(codec))
    laps, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        compressed = sum(len(codec_of_arrow.compress(page)) for page in pages)
        laps += 1
    return Ceiling(laps * rows / spent, sum(map(len, pages)) / compressed)


def ceiling(shape: Shape, codec: str, seconds: float = SECONDS) -> Ceiling:
    with ProcessPoolExecutor(CORES) as pool:
        jobs = [pool.submit(compress_for, shape, codec, seconds) for _ in range(CORES)]
        found = [job.result() for job in jobs]
    return Ceiling(sum(one.rows_per_second for one in found), found[0].ratio)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.lake.codec_ceiling", description=__doc__)
    parser.add_argument("--codec", action="append", choices=["snappy", "zstd"])
    options = parser.parse_args()
    table = Table(title=f"Compression alone, {CORES} cores")
    for heading in ("records", "codec", "rows/s at most", "MB/s", "times smaller"):
        table.add_column(heading, justify="left" if heading in ("records", "codec") else "right")
    for shape in SHAPES:
        for codec in options.codec or ["snappy", "zstd"]:
            found = ceiling(shape, codec)
            megabytes = found.rows_per_second * shape.record_bytes / 1e6
            rate = f"{found.rows_per_second:,.0f}"
            table.add_row(shape.name, codec, rate, f"{megabytes:,.0f}", f"{found.ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
