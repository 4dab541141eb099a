"""A thousand consumers with nothing to read: what their waiting costs the broker.

Each holds one connection with one fetch that is parked. With a wait of 30 s nothing happens at all;
with librdkafka's default of 500 ms every fetch is answered empty and sent again, twice a second.
Only the broker's own CPU time counts, as a share of one core.

    python -m bench.idle                     both waits, 20 s each
"""

from __future__ import annotations

import argparse
import resource
import selectors
import struct
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.interop.broker_process import BrokerProcess
from tests.process.resources import cpu_seconds, open_descriptors, resident_megabytes
from tests.wire.calls import FETCH, fetch_request
from tests.wire.raw_client import RawClient

TOPIC = "quiet"
WAITS_MS = (30_000, 500)
SETTLE_SECONDS = 2.0
CREATE_SECONDS_MAX = 30
FETCH_VERSION = 12
ANSWER_BYTES_MAX = 65_536


class Figures(NamedTuple):
    """One row of the table."""

    cpu_percent: float
    answers_per_second: float
    resident_mb: float
    descriptors: int


class ParkedConsumers:
    """Connections that send a fetch, wait for its answer, and send it again."""

    def __init__(self, port: int, count: int, max_wait_ms: int, stack: ExitStack) -> None:
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self.answers = 0
        for number in range(count):
            client = stack.enter_context(RawClient(port))
            offsets = {number % count: 0}
            frame = client.frame(
                FETCH, FETCH_VERSION, fetch_request(TOPIC, offsets, max_wait_ms=max_wait_ms)
            )
            client.socket.sendall(frame)
            client.socket.setblocking(False)
            self._selector.register(client.socket, selectors.EVENT_READ, frame)

    def attend(self, seconds: float) -> None:
        """Answer every answer with the next fetch, for so long."""
        deadline_s = time.monotonic() + seconds
        while (left_s := deadline_s - time.monotonic()) > 0:
            for key, _ in self._selector.select(left_s):
                answer = key.fileobj.recv(ANSWER_BYTES_MAX)  # type: ignore[union-attr]
                if len(answer) < 4 or struct.unpack_from(">i", answer)[0] != len(answer) - 4:
                    raise SystemExit(f"an answer of {len(answer)} bytes is not whole")
                key.fileobj.sendall(key.data)  # type: ignore[union-attr]
                self.answers += 1


def measure(broker: BrokerProcess, count: int, max_wait_ms: int, seconds: float) -> Figures:
    port = int(broker.bootstrap_servers.rsplit(":", 1)[1])
    with ExitStack() as stack:
        consumers = ParkedConsumers(port, count, max_wait_ms, stack)
        consumers.attend(SETTLE_SECONDS)
        consumers.answers, before = 0, cpu_seconds(broker.pid)
        consumers.attend(seconds)
        used = cpu_seconds(broker.pid) - before
        return Figures(
            used / seconds * 100,
            consumers.answers / seconds,
            resident_megabytes(broker.pid),
            open_descriptors(broker.pid),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--consumers", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, 4 * options.consumers)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(wanted, hard)))
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-") as directory,
        BrokerProcess(Path(directory) / "data") as broker,
    ):
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        topics = [NewTopic(TOPIC, options.consumers, 1)]
        admin.create_topics(topics)[TOPIC].result(CREATE_SECONDS_MAX)
        print(f"{options.consumers} parked consumers, one partition each, {options.seconds:g} s")
        print(f"{'max wait ms':>12}{'CPU %':>8}{'answers/s':>11}{'RSS MB':>8}{'descriptors':>13}")
        for max_wait_ms in WAITS_MS:
            figures = measure(broker, options.consumers, max_wait_ms, options.seconds)
            print(
                f"{max_wait_ms:>12}{figures.cpu_percent:>8.2f}{figures.answers_per_second:>11.0f}"
                f"{figures.resident_mb:>8.0f}{figures.descriptors:>13}",
                flush=True,
            )


if __name__ == "__main__":
    main()
