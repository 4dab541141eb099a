"""Measurements of hosts: processor and memory. Some hosts are offline for hours and send late."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from producing import HOUR_MS, Moment, produce

if TYPE_CHECKING:
    import random

HOSTS = ("web-1", "web-2", "db-1", "queue-1")


def measurement(chance: random.Random, moment: Moment) -> tuple[str, dict[str, object]]:
    host = HOSTS[moment.number % len(HOSTS)]
    wave = math.sin(2 * math.pi * moment.time_ms / HOUR_MS + HOSTS.index(host))
    return host, {
        "host": host,
        "cpu_percent": round(min(100.0, max(0.0, 45 + 25 * wave + chance.gauss(0, 6))), 2),
        "memory_bytes": 2_000_000_000 + 1_000_000 * chance.randrange(1_500),
    }


if __name__ == "__main__":
    produce("metrics", measurement)
