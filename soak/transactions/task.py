"""What a processor is told to do: arguments that the Python and the Java program both take."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

INPUT_TOPIC, OUTPUT_TOPIC = "pipeline-input", "pipeline-output"
GROUP = "pipeline"
PARTITIONS = 4
"""Of either topic: a transaction writes to several."""
TRANSACTION_TIMEOUT_MS = 5_000
SESSION_TIMEOUT_MS = 3_000
"""What a killed processor owned is idle for so long; the least that a broker here must allow."""
HEARTBEAT_MS = 500
BATCH_RECORDS_MAX = 40
ABORT_SHARE = 0.1
BEGUN_AGAIN_STATUS = 3
"""A processor that cannot go on (it was fenced, mostly) ends with this: a new one takes over."""
COMMITTED_LINE, ABORTED_LINE = "committed", "aborted"


@dataclass(frozen=True)
class Task:
    """One life of one processor; fields in the order of the arguments."""

    bootstrap_servers: str
    transactional_id: str
    name: str
    """Unique for each life: its transactions are called NAME/0, NAME/1 ..."""
    seed: int
    input_topic: str = INPUT_TOPIC
    output_topic: str = OUTPUT_TOPIC
    group: str = GROUP
    partitions: int = PARTITIONS
    batch_records_max: int = BATCH_RECORDS_MAX
    abort_share: float = ABORT_SHARE
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    heartbeat_ms: int = HEARTBEAT_MS

    def to_arguments(self) -> list[str]:
        return [str(value) for value in astuple(self)]

    @classmethod
    def from_arguments(cls, arguments: list[str]) -> Task:
        kinds = {"str": str, "int": int, "float": float}
        converters = [kinds[str(field.type)] for field in fields(cls)]
        values = [kind(text) for kind, text in zip(converters, arguments, strict=True)]
        return cls(*values)


def output_partition(number: int, partitions: int) -> int:
    """Neighbours stay together in threes, so that the partitions of a transaction vary."""
    return number // 3 % partitions
