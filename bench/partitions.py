"""Ten thousand partitions: how long creating, writing and starting take, and what they cost.

Every topic has the same number of partitions; records go round robin, so that every log is touched.
Each row is taken when its step has ended. `start` counts from the command to the line that says
where the broker listens, Python's own start included.

    python -m bench.partitions                      10 topics of 1,000 partitions
    python -m bench.partitions --topics 2 --records 1
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.interop.broker_process import BrokerProcess
from tests.process.resources import open_descriptors, peak_megabytes, resident_megabytes

if TYPE_CHECKING:
    from collections.abc import Callable

START_SECONDS_MAX = 300
STOP_SECONDS_MAX = 300
CREATE_SECONDS_MAX = 300
FLUSH_SECONDS_MAX = 300
QUEUE_MESSAGES_MAX = 1_000_000
POLL_EVERY_RECORDS = 1_000
VALUE = b"x" * 100


class Table:
    """One line per step, printed as soon as the step is over."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        print(f"{'step':<28}{'seconds':>9}{'RSS MB':>9}{'peak MB':>9}{'descriptors':>13}")

    def measure(self, step: str, work: Callable[[], object]) -> None:
        started = time.perf_counter()
        work()
        seconds = time.perf_counter() - started
        pid = self._broker.pid
        print(
            f"{step:<28}{seconds:>9.2f}{resident_megabytes(pid):>9.0f}"
            f"{peak_megabytes(pid):>9.0f}{open_descriptors(pid):>13}",
            flush=True,
        )


def create(broker: BrokerProcess, names: list[str], partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    topics = [NewTopic(name, partitions, 1) for name in names]
    for future in admin.create_topics(topics, request_timeout=CREATE_SECONDS_MAX).values():
        future.result(CREATE_SECONDS_MAX)


def produce(broker: BrokerProcess, names: list[str], partitions: int, rounds: int) -> None:
    """`rounds` records to every partition, in turn."""
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "acks": "all",
            "linger.ms": 50,
            "queue.buffering.max.messages": QUEUE_MESSAGES_MAX,
        }
    )
    failures: list[object] = []

    def delivered(error: object, _message: object) -> None:
        if error is not None:
            failures.append(error)

    count = 0
    for _ in range(rounds):
        for partition in range(partitions):
            for name in names:
                producer.produce(name, VALUE, partition=partition, on_delivery=delivered)
                count += 1
                if count % POLL_EVERY_RECORDS == 0:
                    producer.poll(0)
    unsent = producer.flush(FLUSH_SECONDS_MAX)
    if unsent or failures:
        raise SystemExit(f"{unsent} records not sent, {len(failures)} failed: {failures[:1]}")


def run(broker: BrokerProcess, topics: int, partitions: int, rounds: int) -> None:
    names = [f"bench-{number}" for number in range(topics)]
    total = topics * partitions
    table = Table(broker)
    table.measure("start, empty directory", broker.start)
    table.measure(f"create {total:,} partitions", lambda: create(broker, names, partitions))
    for attempt in ("first", "second"):
        table.measure(
            f"produce, {attempt} {total * rounds:,}",
            lambda: produce(broker, names, partitions, rounds),
        )
    started = time.perf_counter()
    broker.terminate()
    print(f"{'stop (SIGTERM)':<28}{time.perf_counter() - started:>9.2f}")
    table.measure("start after a clean stop", broker.start)
    table.measure("produce once more", lambda: produce(broker, names, partitions, rounds))
    broker.kill()
    table.measure("start after kill -9", broker.start)
    table.measure("produce once more", lambda: produce(broker, names, partitions, rounds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--partitions", type=int, default=1_000, help="of each topic")
    parser.add_argument("--records", type=int, default=2, help="per partition and round")
    parser.add_argument("--set", action="append", default=[], help="broker setting NAME=VALUE")
    options = parser.parse_args()
    settings = [part for pair in options.set for part in ("--set", pair)]
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory:
        broker = BrokerProcess(
            Path(directory) / "data",
            settings,
            start_timeout_s=START_SECONDS_MAX,
            stop_timeout_s=STOP_SECONDS_MAX,
        )
        with ExitStack() as stack:
            stack.push(broker)  # its end is sure; its first start is one of the rows
            run(broker, options.topics, options.partitions, options.records)


if __name__ == "__main__":
    main()
