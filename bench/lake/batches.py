"""Batches as a producer makes them, built once and sent many times.

There are so many different ones that neither a dictionary nor the window of a codec of Parquet
reaches from one record to its repetition: files come out as large as if no record came twice.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from headrace.records.build import build_batch
from headrace.records.compression import Compression
from headrace.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.lake.shapes import Shape

CODECS = {codec.name.lower(): codec for codec in Compression}
BATCHES = 128
SEED = 20_240_131
CUSTOMERS = 10**7
WORDS = (
    *("order", "customer", "accepted", "delivered", "warehouse", "invoice", "pending", "north"),
    *("south", "amount", "currency", "total", "returned", "express", "standard", "priority"),
)


def batches_of(
    shape: Shape, codec: str, now_ms: int | None = None, count: int = BATCHES
) -> list[bytes]:
    """Different batches of this shape, their records a millisecond apart, the last ones new."""
    chance = random.Random(SEED)
    end_ms = int(time.time() * 1000) if now_ms is None else now_ms
    values = event_values(shape.value_bytes, chance)
    batches = []
    for index in range(count):
        first_ms = end_ms - (count - index) * shape.batch_records
        records = [
            Record(number, first_ms + number, key(chance), next(values))
            for number in range(shape.batch_records)
        ]
        batches.append(bytes(build_batch(records, compression=CODECS[codec])))
    return batches


def key(chance: random.Random) -> bytes:
    """`KEY_BYTES` long."""
    return b"customer-%07d" % chance.randrange(CUSTOMERS)


def event_values(size: int, chance: random.Random) -> Iterator[bytes]:
    """Lines like JSON, which shrink about as events of real systems do."""
    number = 0
    while True:
        number += 1
        text = f'{{"id":{number},'
        while len(text) < size:
            text += f'"{chance.choice(WORDS)}":"{chance.choice(WORDS)}-{chance.getrandbits(32):x}",'
        yield text[: size - 1].encode() + b"}"
