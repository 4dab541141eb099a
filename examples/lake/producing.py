"""What the three producers share: arguments, times, and a producer that waits for its answers.

Each makes records of the last hours, in the order of time, with some that come late and some that
are bad, as the world does it. ``--seed`` makes the same records again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import Producer

if TYPE_CHECKING:
    from collections.abc import Callable

HOUR_MS = 3_600_000
HISTORY_MS = 3 * HOUR_MS
LATE_MS_MAX = 26 * HOUR_MS
LATE_SHARE = 0.01
BAD_SHARE = 0.003
FLUSH_SECONDS_MAX = 60.0


class Moment(NamedTuple):
    """When a record is made."""

    number: int
    time_ms: int
    progress: float
    """0 at the first record, 1 behind the last."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", default="127.0.0.1:9092")
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--now-ms", type=int, default=time.time_ns() // 1_000_000)
    return parser.parse_args()


def produce(
    topic: str, make: Callable[[random.Random, Moment], tuple[str, dict[str, object]]]
) -> None:
    """``make`` gives key and value of a record, from chance and its moment."""
    given = parse()
    chance = random.Random(f"{topic}-{given.seed}")
    producer = Producer(
        {"bootstrap.servers": given.bootstrap, "enable.idempotence": True, "linger.ms": 20}
    )
    step_ms = HISTORY_MS / given.records
    for number in range(given.records):
        time_ms = int(given.now_ms - HISTORY_MS + number * step_ms)
        if chance.random() < LATE_SHARE:
            time_ms -= chance.randrange(HOUR_MS, LATE_MS_MAX)
        key, value = make(chance, Moment(number, time_ms, number / given.records))
        data = json.dumps(value).encode()
        if chance.random() < BAD_SHARE:
            data = spoilt(data, chance)
        while True:
            try:
                producer.produce(topic, data, key, timestamp=time_ms)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    left = producer.flush(FLUSH_SECONDS_MAX)
    if left:
        sys.exit(f"{topic}: {left} records were not acknowledged")
    print(f"{topic}: {given.records} records")


def spoilt(data: bytes, chance: random.Random) -> bytes:
    """Cut off, not JSON at all, or not even text."""
    return chance.choice([data[: len(data) // 2], b"<html>502 Bad Gateway</html>", b"\xff\xfe\x00"])
