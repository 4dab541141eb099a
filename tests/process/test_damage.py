"""Files that were damaged while the broker was down: what lies before the damage is served as it
was, a wrong record never is, and the log says what was done."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.process.parties import connect, create_topic
from tests.process.reading import read_to_end
from tests.wire.calls import batch, fetch, produce

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.broker_process import BrokerProcess
    from tests.wire.raw_client import RawClient

RECORDS = 30
VALUE_BYTES = 120_000
SEGMENT_BYTES = 2**20
HEADER_BYTES = 61
RECORDS_AFTER = 5
MARKER = ".kafka_cleanshutdown"


def values(count: int) -> list[bytes]:
    return [b"%06d" % number * (VALUE_BYTES // 6) for number in range(count)]


@pytest.fixture
def written(make_broker) -> BrokerProcess:
    """A broker that was stopped, with one batch per record in several segments."""
    broker = make_broker()
    create_topic(broker, "orders", config={"segment.bytes": str(SEGMENT_BYTES)})
    with connect(broker) as client:
        for value in values(RECORDS):
            assert produce(client, "orders", {0: batch(value)})[0].error_code == 0
    broker.terminate()
    return broker


def segments(broker: BrokerProcess) -> list[Path]:
    return sorted((broker.directory / "orders-0").glob("*.log"))


def after_a_crash(broker: BrokerProcess) -> None:
    """Make the next start look at everything: no marker, and nothing known to be on the medium."""
    for name in (MARKER, "recovery-point-offset-checkpoint"):
        (broker.directory / name).unlink()


def flip_a_byte(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)


def batch_bytes(client: RawClient, offset: int) -> bytes:
    return bytes(fetch(client, "orders", {0: offset}, partition_max_bytes=1)[0].records)


def expect_exactly(broker: BrokerProcess, count: int) -> None:
    """A real client reads the first `count` records as they were written, and then no other."""
    records = read_to_end(broker.bootstrap_servers, "orders", 0)
    assert [record.offset() for record in records] == list(range(count))
    assert [record.value() for record in records] == values(RECORDS)[:count]


def expect_to_go_on(broker: BrokerProcess, count: int) -> None:
    """New records come right behind what was kept, and survive the next start."""
    with connect(broker) as client:
        for number in range(RECORDS_AFTER):
            answer = produce(client, "orders", {0: batch(b"after the damage")})[0]
            assert (answer.error_code, answer.base_offset) == (0, count + number)
    assert broker.terminate() == 0
    broker.start()
    records = read_to_end(broker.bootstrap_servers, "orders", 0)
    assert [record.value() for record in records] == [
        *values(RECORDS)[:count],
        *[b"after the damage"] * RECORDS_AFTER,
    ]


@pytest.mark.parametrize("which", ["an old segment", "the active segment"])
def test_flipped_byte_after_a_crash(which: str, written: BrokerProcess):
    number = 1 if which == "an old segment" else -1
    path = segments(written)[number]
    first_offset = int(path.stem)
    flip_a_byte(path, len(batch(values(1)[0])) + HEADER_BYTES + 200)  # in the second batch
    after_a_crash(written)
    written.start()
    expect_exactly(written, first_offset + 1)
    said = written.log_tail()
    assert "orders-0: cut" in said
    assert "wrong checksum" in said
    kept = list(path.parent.glob("*.cut"))
    assert kept, "what was cut off is kept for people"
    expect_to_go_on(written, first_offset + 1)


def test_flipped_byte_in_an_old_segment_after_a_clean_stop(written: BrokerProcess):
    """Nothing is scanned then: the client's own check must find it, and the rest is served."""
    path = segments(written)[1]
    first_offset = int(path.stem)
    flip_a_byte(path, HEADER_BYTES + 200)
    written.start()
    assert "after a clean stop" in written.log_tail()
    expected = values(RECORDS)
    with connect(written) as client:
        for offset in (*range(first_offset), *range(first_offset + 1, RECORDS)):
            assert expected[offset] in batch_bytes(client, offset)
    with pytest.raises(AssertionError, match="CRC"):
        read_to_end(written.bootstrap_servers, "orders", 0)


@pytest.mark.parametrize("stop", ["clean", "crash"])
def test_removed_indexes(stop: str, written: BrokerProcess):
    closed = segments(written)
    closed[0].with_suffix(".index").unlink()
    closed[1].with_suffix(".timeindex").unlink()
    if stop == "crash":
        after_a_crash(written)
    written.start()
    expect_exactly(written, RECORDS)
    with connect(written) as client:
        assert values(RECORDS)[13] in batch_bytes(client, 13)
    expect_to_go_on(written, RECORDS)


@pytest.mark.parametrize("lost_bytes", [1, VALUE_BYTES + 2_000])
def test_torn_tail(lost_bytes: int, written: BrokerProcess):
    path = segments(written)[-1]
    size = path.stat().st_size
    batch_size = len(batch(values(RECORDS)[0]))
    os.truncate(path, size - lost_bytes)
    after_a_crash(written)
    written.start()
    remaining = RECORDS - -(-lost_bytes // batch_size)
    expect_exactly(written, remaining)
    assert "orders-0: cut a torn write" in written.log_tail()
    expect_to_go_on(written, remaining)


def test_removed_segment_in_the_middle(written: BrokerProcess):
    """Its records are lost; those around it are not, and no other takes their place."""
    gone = segments(written)[1]
    first_offset, next_offset = int(gone.stem), int(segments(written)[2].stem)
    for path in gone.parent.glob(f"{gone.stem}.*"):
        path.unlink()
    after_a_crash(written)
    written.start()
    records = read_to_end(written.bootstrap_servers, "orders", 0)
    expected = values(RECORDS)
    assert all(record.value() == expected[record.offset()] for record in records)
    found = {record.offset() for record in records}
    assert set(range(first_offset)) <= found
    assert not found & set(range(first_offset, next_offset))
