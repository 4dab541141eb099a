"""A disk that is full: producers are told so by partition, readers go on, and room is enough to
go on writing. A file system in memory of a few megabytes plays the disk."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from headrace.codecs.kafka.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from headrace.codecs.kafka.generated.delete_topics import DeleteTopicsRequest
from tests.interop.deadline import wait_until
from tests.process.parties import connect, create_topic
from tests.wire.calls import batch, fetch, produce

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.wire.raw_client import RawClient

DISK_MEGABYTES = 24
STORAGE_ERROR = 56
DELETE_TOPICS, DELETE_RECORDS = 20, 21
BATCHES_MAX = 2_000
ROOM_SECONDS_MAX = 15.0
SHORT_DELAYS = {"file.delete.delay.ms": "0", "segment.bytes": "1048576"}
VALUE = os.urandom(50_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A mount of its own; needs the right to mount."""
    libc = ctypes.CDLL(None, use_errno=True)
    place = tmp_path / "disk"
    place.mkdir()
    options = f"size={DISK_MEGABYTES}m".encode()
    if libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", 0, options):
        pytest.skip(f"cannot mount a small disk: {os.strerror(ctypes.get_errno())}")
    yield place
    assert libc.umount2(str(place).encode(), 0) == 0


class Ledger:
    """What was acknowledged: offset to number, of partition 0 of one topic."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.values: dict[int, bytes] = {}
        self._number = 0

    def produce_one(self, client: RawClient) -> int:
        value = b"%08d" % self._number + VALUE
        self._number += 1
        answer = produce(client, self.topic, {0: batch(value)})[0]
        if answer.error_code == 0:
            self.values[answer.base_offset] = value
        return answer.error_code

    def produce_until_full(self, client: RawClient) -> None:
        for _ in range(BATCHES_MAX):
            code = self.produce_one(client)
            if code:
                assert code == STORAGE_ERROR
                return
        raise AssertionError("the disk never became full")

    def verify(self, client: RawClient, first_offset: int = 0) -> None:
        """All that was acknowledged is there, and its offsets have no gap."""
        offsets = sorted(offset for offset in self.values if offset >= first_offset)
        assert offsets == list(range(first_offset, first_offset + len(offsets)))
        for offset in offsets:
            partition = fetch(client, self.topic, {0: offset}, partition_max_bytes=1)[0]
            assert partition.error_code == 0
            assert self.values[offset] in bytes(partition.records)


@pytest.mark.parametrize("durability", ["page-cache", "fsync"])
def test_full_disk_and_room_again(durability: str, small_disk: Path, make_broker):
    broker = make_broker(
        f"durability={durability}",
        "headrace.write.ahead.log.bytes.max=4194304",
        directory=small_disk / "data",
    )
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(4_000_000))
    create_topic(broker, "orders", config=SHORT_DELAYS)
    create_topic(broker, "other", config=SHORT_DELAYS)
    orders, other = Ledger("orders"), Ledger("other")
    with connect(broker) as client:
        for _ in range(10):
            assert other.produce_one(client) == 0
        orders.produce_until_full(client)
        orders.verify(client)
        other.verify(client)
        ballast.unlink()
        wait_until(lambda: orders.produce_one(client) == 0, "a file less", ROOM_SECONDS_MAX)
        orders.produce_until_full(client)
        first_offset = len(orders.values) - 20
        wait_until(
            lambda: delete_records(client, "orders", first_offset) == 0,
            "the new start is written down",
            ROOM_SECONDS_MAX,
        )
        wait_until(lambda: orders.produce_one(client) == 0, "records less", ROOM_SECONDS_MAX)
        orders.produce_until_full(client)
        orders.verify(client, first_offset)
    fill(small_disk)
    assert broker.terminate() in (0, 1), "a stop that cannot write its checkpoints may say so"
    (small_disk / "filling").unlink()
    broker.start()
    with connect(broker) as client:
        orders.verify(client, first_offset)
        other.verify(client)
        delete_topic(client, "orders")
        wait_until(lambda: other.produce_one(client) == 0, "a topic less", ROOM_SECONDS_MAX)
        other.verify(client)
    assert "Traceback" not in broker.log_path.read_text()


def fill(disk: Path) -> None:
    """Take the last byte."""
    with (disk / "filling").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def delete_records(client: RawClient, topic: str, offset: int) -> int:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=10_000
    )
    answer = client.call(DELETE_RECORDS, 2, request).topics[0].partitions[0]
    assert answer.error_code in (0, STORAGE_ERROR)
    return answer.error_code


def delete_topic(client: RawClient, topic: str) -> None:
    request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000)
    assert client.call(DELETE_TOPICS, 5, request).responses[0].error_code == 0
