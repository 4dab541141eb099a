"""A producer that goes on and on, whatever becomes of the broker.

Record n of partition p says ``p-n``, key and value alike. The producer is idempotent and writes
each partition in order, so the record has offset n: whoever copies it can be held to its place.
"""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from soak.clients import JOIN_SECONDS_MAX, ClientStuck, client_settings

from .work import INPUT_TOPIC

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

STEP_SECONDS = 0.02
FLUSH_SECONDS_MAX = 120.0
BEHIND_SECONDS_MAX = 1.0
"""What could not be sent in time is not made up for by more than this."""


class Feeder(threading.Thread):
    """Writes to all partitions in turn, at a steady rate."""

    def __init__(self, bootstrap_servers: str, partitions: int, records_per_second: float) -> None:
        super().__init__(name="feeder", daemon=True)
        self.failures: list[str] = []
        self.acknowledged = [0] * partitions
        self._sent = [0] * partitions
        self._step_records = max(1, round(records_per_second * STEP_SECONDS))
        self._stop_wanted = threading.Event()
        self._producer = Producer(
            client_settings(bootstrap_servers, enable_idempotence=True, linger_ms=5)
        )

    def run(self) -> None:
        due_s = time.monotonic()
        while not self._stop_wanted.is_set():
            for _ in range(self._step_records):
                self._send(sum(self._sent) % len(self._sent))
            due_s = max(due_s + STEP_SECONDS, time.monotonic() - BEHIND_SECONDS_MAX)
            while (wait_s := due_s - time.monotonic()) > 0:
                self._producer.poll(wait_s)
        unsent = self._producer.flush(FLUSH_SECONDS_MAX)
        if unsent:
            self.failures.append(f"{unsent} records are not acknowledged")

    def finish(self) -> list[int]:
        """How many records each partition has in the end."""
        self.stop()
        if self.is_alive():
            raise ClientStuck("the producer does not come to its end")
        return self.acknowledged

    def stop(self) -> None:
        self._stop_wanted.set()
        self.join(FLUSH_SECONDS_MAX + JOIN_SECONDS_MAX)

    def _send(self, partition: int) -> None:
        name = f"{partition}-{self._sent[partition]}".encode()
        answered = partial(self._answered, partition)
        while True:
            try:
                self._producer.produce(
                    INPUT_TOPIC, name, name, partition=partition, on_delivery=answered
                )
            except BufferError:  # the broker is away: wait for room
                if self._stop_wanted.wait(STEP_SECONDS):
                    return
                self._producer.poll(STEP_SECONDS)
            else:
                self._sent[partition] += 1
                return

    def _answered(self, partition: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.acknowledged[partition] += 1
        else:
            self.failures.append(f"a record of partition {partition} was refused: {error}")
