"""Compressed data that costs more than it shows, and batches that claim more than they hold."""

from __future__ import annotations

import gzip

import pytest

from headrace.config.broker import BrokerConfig
from headrace.config.topic import TopicConfig
from headrace.model.errors import CorruptRecord, RecordTooLarge
from headrace.records.build import assemble
from headrace.records.compression import GZIP_PIECE_BYTES, Compression, compress, decompress
from headrace.records.header import BatchHeader
from headrace.storage.batch_validation import (
    BATCH_RECORDS_MAX,
    OPENED_RECORDS_MAX,
    BatchRules,
    apply_rules,
    check_client_batch,
)

NOW_MS = 1_700_000_000_000
MEMBERS = 50_000
KEYED_RECORD = b"\x0e\x00\x00\x00\x02a\x01\x00"


def batch_of(count: int, claimed: int | None = None) -> bytearray:
    """Tiny records that zstd makes a kilobyte of; the header may claim another number."""
    body = compress(Compression.ZSTD, KEYED_RECORD * count)
    shown = claimed or count
    header = BatchHeader(
        0, 0, 0, 2, 0, Compression.ZSTD, shown - 1, NOW_MS, NOW_MS, -1, -1, -1, shown
    )
    return assemble(header, body)


def rules(decompressed_bytes_max: int, **settings: str) -> BatchRules:
    config = TopicConfig.resolve(settings, BrokerConfig.resolve({}))
    return BatchRules(config, decompressed_bytes_max)


def test_a_million_bytes_of_empty_gzip_members():
    """The library copies all that lies behind a member: the input is given to it in pieces."""
    members = gzip.compress(b"") * MEMBERS + gzip.compress(b"the end")
    assert decompress(Compression.GZIP, members, 100) == b"the end"


@pytest.mark.parametrize("size", [0, 1, GZIP_PIECE_BYTES, 10 * GZIP_PIECE_BYTES + 7])
def test_gzip_members_that_are_longer_than_a_piece(size: int):
    contents = [bytes((number * 7 + size) % 251 for number in range(size)), b"second" * size]
    data = b"".join(gzip.compress(content, 1) for content in contents)
    whole = b"".join(contents)
    assert decompress(Compression.GZIP, data, len(whole)) == whole
    if whole:
        with pytest.raises(RecordTooLarge):
            decompress(Compression.GZIP, data, len(whole) - 1)
    with pytest.raises(CorruptRecord):
        decompress(Compression.GZIP, data[:-1], len(whole))


def test_a_batch_that_claims_too_many_records_is_too_large():
    """So that Java's producer splits it."""
    batch = batch_of(1, claimed=BATCH_RECORDS_MAX + 1)
    with pytest.raises(RecordTooLarge, match="records"):
        check_client_batch(batch, rules(1 << 27), NOW_MS)
    assert check_client_batch(batch_of(1, claimed=BATCH_RECORDS_MAX), rules(1 << 27), NOW_MS)


@pytest.mark.parametrize(
    "settings",
    [{"cleanup.policy": "compact"}, {"compression.type": "gzip"}],
    ids=["compacted", "recompressed"],
)
def test_where_batches_are_opened_they_may_hold_fewer_records(settings: dict[str, str]):
    batch = batch_of(1, claimed=OPENED_RECORDS_MAX + 1)
    chosen = rules(1 << 27, **settings)
    header = check_client_batch(batch, chosen, NOW_MS)
    with pytest.raises(RecordTooLarge, match="opened"):
        apply_rules(batch, header, chosen, NOW_MS)


def test_the_limit_of_opened_batches_holds_for_compacted_topics():
    chosen = rules(100_000, **{"cleanup.policy": "compact"})
    batch = batch_of(50_000)
    header = check_client_batch(batch, chosen, NOW_MS)
    with pytest.raises(RecordTooLarge):
        apply_rules(batch, header, chosen, NOW_MS)
