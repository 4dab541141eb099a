"""Batches that storage took unopened, and that nobody can read."""

from __future__ import annotations

import pytest

from headrace.broker.foreign_batches import maybe_records
from headrace.model.errors import CorruptRecord
from headrace.model.topic import TopicPartition
from headrace.records.build import build_batch
from headrace.records.compression import Compression
from headrace.records.header import HEADER_SIZE, stamp_crc

ADDRESS = TopicPartition("own", 0)
COMPRESSION_AT = 22


def resealed(batch: bytearray) -> bytes:
    """With the right checksum, as a client sends it."""
    stamp_crc(batch, 0, len(batch))
    return bytes(batch)


def test_records_of_a_sound_batch() -> None:
    batch = bytes(build_batch([(b"key", b"value")], timestamp_ms=1))
    records = maybe_records(batch, ADDRESS)
    assert records is not None
    assert [(each.key, each.value) for each in records] == [(b"key", b"value")]


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (HEADER_SIZE, 0x7E),
        (-1, 0x7E),
        (COMPRESSION_AT, Compression.ZSTD),
        (COMPRESSION_AT, 7),
    ],
    ids=["record-length", "header-count", "not-compressed-as-said", "unknown-compression"],
)
def test_senseless_batch_is_left_out_and_named(
    caplog: pytest.LogCaptureFixture, position: int, value: int
) -> None:
    batch = build_batch([(b"key", b"value")], timestamp_ms=1)
    batch[position] = value
    assert maybe_records(resealed(batch), ADDRESS) is None
    assert "own-0: left out a batch" in caplog.text


def test_damage_is_not_taken_for_somebody_elses_batch() -> None:
    batch = build_batch([(b"key", b"value")], timestamp_ms=1)
    batch[-1] ^= 1
    with pytest.raises(CorruptRecord):
        maybe_records(bytes(batch), ADDRESS)
