"""A segment with damaged batches becomes a table: each of them is parked with its reason and its
bytes, and the records of all others are rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.parquet import ParquetSettings, run_parquet
from headrace.records.build import assemble, build_batch
from headrace.records.compression import Compression, compress
from headrace.records.header import HEADER_SIZE, read_header
from headrace.records.varint import append_varint

from .lake import files_of, parked_of, query
from .topics import FIRST_MS, fill, new_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.testing import Broker

SIZE = 10
BOMB_BYTES = 100 * 1024 * 1024
REASONS = {
    "checksum": "the checksum of the batch is wrong",
    "varint": "a varint is cut off",
    "negative": "a key or value has a negative length",
    "count": "bytes are left after the last record",
    "magic": "there is no batch where one should begin",
    "bomb": "more than 67108864 bytes",
}


def sound(number: int) -> bytes:
    """The batch of offsets ``number * SIZE`` and up."""
    first = number * SIZE
    values = [(b"k", b"value-%d" % offset) for offset in range(first, first + SIZE)]
    return bytes(build_batch(values, base_offset=first, timestamp_ms=FIRST_MS))


def damaged(kind: str, number: int) -> bytes:
    """The same, with one thing wrong; where it is not the checksum, that is right."""
    batch = sound(number)
    header, body = read_header(batch), batch[HEADER_SIZE:]
    if kind == "checksum":
        return batch[:-3] + b"!" + batch[-2:]
    if kind == "magic":
        return batch[:16] + b"\x07" + batch[17:]
    if kind == "varint":
        return bytes(assemble(header, body[:-1] + b"\xff"))
    if kind == "negative":
        record = bytearray(b"\0\0\0")  # attributes and the two deltas
        append_varint(record, -9)
        length = bytearray()
        append_varint(length, len(record) + 2)
        return bytes(assemble(header._replace(record_count=1), length + record + b"\1\0"))
    if kind == "count":
        return bytes(assemble(header._replace(record_count=SIZE - 1), body))
    assert kind == "bomb"
    bomb = compress(Compression.ZSTD, bytes(BOMB_BYTES))
    return bytes(assemble(header._replace(attributes=Compression.ZSTD), bomb))


@pytest.mark.parametrize("tasks", [1, 7])
def test_damaged_batches_are_parked_and_the_others_are_rows(
    spark: SparkSession, own_broker: Broker, tmp_path: Path, tasks: int
):
    batches = []
    for kind in REASONS:
        batches.append(sound(len(batches)))
        batches.append(damaged(kind, len(batches)))
    topic = new_topic(own_broker, 1)
    fill(own_broker, topic, len(batches) * SIZE)
    (segment,) = Path(own_broker.directory).rglob(f"{topic}-0/*.log")
    original = segment.read_bytes()
    segment.write_bytes(b"".join(batches))
    source = {
        "kafka.bootstrap.servers": own_broker.bootstrap_servers,
        "subscribe": topic,
        "headrace.read.path": "storage",
        "minPartitions": str(tasks),
    }
    settings = ParquetSettings(job="lake", source=source, target=str(tmp_path / "lake"))
    report = run_parquet(spark, settings)
    segment.write_bytes(original)  # The broker looks at it when it stops.
    assert report.rows == len(REASONS) * SIZE
    rows = query(files_of("plain", settings.target), '"offset", value', 'order by "offset"')
    good = [offset for offset in range(len(batches) * SIZE) if offset // SIZE % 2 == 0]
    assert rows == [(offset, b"value-%d" % offset) for offset in good]
    parked = query(
        parked_of("plain", settings.target),
        '"offset", last_offset, reason, value',
        'order by "offset"',
    )
    lost = [offset for first, last, *_ in parked for offset in range(first, last + 1)]
    assert lost == [offset for offset in range(len(batches) * SIZE) if offset not in good]
    for first, _, reason, data in parked:
        number = first // SIZE
        assert list(REASONS.values())[number // 2] in reason
        assert data == batches[number]
