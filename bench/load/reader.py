"""A process that reads a topic from its beginning, again and again, as fast as it is given.

    python -m bench.load.reader ADDRESS TOPIC PARTITIONS

It prints `reading` when the first answer is there and, at SIGTERM, the bytes and seconds. It looks
at no record: only the first and the last offset of each answer's batches matter to it.
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from headrace.records.header import HEADER_SIZE

from .frames import FETCH, FETCH_VERSION, FetchFrame, decode_answer, whole_frame_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

RECEIVE_BYTES = 1 << 20
WAIT_MS = 0
ANSWER_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 30.0
START_SECONDS_MAX = 30.0
READING = "reading"


class ReadSoFar(NamedTuple):
    """What the reader got."""

    size_bytes: int
    seconds: float


def offset_after(records: memoryview, offset: int) -> int:
    """The offset after the last whole batch; `offset` if there is none."""
    position = 0
    while position + HEADER_SIZE <= len(records):
        end = position + 12 + int.from_bytes(records[position + 8 : position + 12], "big")
        if end > len(records):
            break
        base = int.from_bytes(records[position : position + 8], "big")
        offset = base + int.from_bytes(records[position + 23 : position + 27], "big") + 1
        position = end
    return offset


class _Reader:
    def __init__(self, address: str, topic: str, partitions: int) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), ANSWER_SECONDS_MAX)
        self._frames = [FetchFrame(topic, p, max_wait_ms=WAIT_MS) for p in range(partitions)]
        self._offsets = [0] * partitions
        self.is_stopped = False
        self.size_bytes = 0

    def run(self) -> ReadSoFar:
        started_s = 0.0
        while not self.is_stopped:
            for partition in range(len(self._frames)):
                self._read(partition)
                if not started_s:
                    started_s = time.perf_counter()
                    print(READING, flush=True)
        return ReadSoFar(self.size_bytes, time.perf_counter() - started_s)

    def _read(self, partition: int) -> None:
        self._socket.sendall(self._frames[partition].at(self._offsets[partition]))
        received = bytearray()
        while not whole_frame_bytes(received):
            part = self._socket.recv(RECEIVE_BYTES)
            if not part:
                raise EOFError("the broker closed the reader's connection")
            received += part
        self.size_bytes += len(received)
        answer = decode_answer(FETCH, FETCH_VERSION, bytes(received)).responses[0].partitions[0]
        if answer.error_code:
            raise RuntimeError(f"a fetch was refused with error {answer.error_code}")
        before = self._offsets[partition]
        after = offset_after(memoryview(answer.records or b""), before)
        self._offsets[partition] = after if after > before else 0


@contextmanager
def reading(address: str, topic: str, partitions: int) -> Iterator[list[ReadSoFar]]:
    """A reader in a process of its own while the block runs; afterwards the list has its result."""
    command = [sys.executable, "-m", "bench.load.reader", address, topic, str(partitions)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    result: list[ReadSoFar] = []
    watchdog = threading.Timer(START_SECONDS_MAX, process.kill)  # bounds the reading of its output
    watchdog.start()
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != READING:
            raise RuntimeError("the reader of old data did not start; its error is above")
        watchdog.cancel()
        yield result
        process.terminate()
        words = process.communicate(timeout=STOP_SECONDS_MAX)[0].split()
        result.append(ReadSoFar(int(words[0]), float(words[1])))
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("address")
    parser.add_argument("topic")
    parser.add_argument("partitions", type=int)
    options = parser.parse_args()
    reader = _Reader(options.address, options.topic, options.partitions)

    def stop(_signal: int, _frame: object) -> None:
        reader.is_stopped = True

    signal.signal(signal.SIGTERM, stop)
    read = reader.run()
    print(f"{read.size_bytes} {read.seconds:.6f}", flush=True)


if __name__ == "__main__":
    main()
