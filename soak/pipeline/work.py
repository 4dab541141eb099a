"""What the driver of a job is told, as one argument of its command line; and what it says."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

TABLES = ("plain", "delta", "iceberg")
TOPIC = "topic"
JOBS = (*TABLES, TOPIC)
VICTIMS = ("driver", "worker", "broker")

INPUT_TOPIC, OUTPUT_TOPIC = "in", "out"
INPUT_PARTITIONS, OUTPUT_PARTITIONS = 3, 2
MARK = "seen "
"""What the topic-to-topic job puts before every value."""

STARTED, BATCH = "started", "batch"
"""Events that a driver prints, one JSON object in a line each."""


@dataclass(frozen=True)
class DriverWork:
    """One job; ``job`` is the kind of its output."""

    job: str
    bootstrap_servers: str
    target: str
    """A directory, or a topic."""
    checkpoint: str
    trigger_seconds: float
    source: dict[str, str] = field(default_factory=dict)
    """Options of the source, beside the topic."""
    spark: dict[str, str] = field(default_factory=dict)
    master: str | None = "local[2,4]"
    """None: as table topics do."""
    compact_batches: int = 50
    niceness: int = 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> DriverWork:
        return cls(**json.loads(text))
