"""What a batch must obey before it may enter a log."""

from __future__ import annotations

import struct

import pytest

from headrace.model.errors import (
    BatchLargerThanSegment,
    CorruptRecord,
    InvalidRecord,
    InvalidTimestamp,
    RecordTooLarge,
    UnsupportedCompression,
)
from headrace.records.build import build_batch
from headrace.records.compression import Compression
from headrace.records.decode import decode_records
from headrace.records.header import read_header, stamp_crc
from headrace.storage.log_port import Origin


def changed(batch: bytearray, position: int, form: str, value: int) -> bytearray:
    """The batch with one header field replaced and the checksum made right again."""
    struct.pack_into(form, batch, position, value)
    stamp_crc(batch, 0, len(batch))
    return batch


def sound(bench, **fields) -> bytearray:
    return build_batch([(b"k", b"v")], timestamp_ms=bench.clock.now_ms(), **fields)


BAD_BATCHES = {
    "base offset": (lambda b: changed(b, 0, ">q", 3), InvalidRecord),
    "magic": (lambda b: changed(b, 16, ">B", 1), InvalidRecord),
    "control": (lambda b: changed(b, 21, ">h", 32), InvalidRecord),
    "delete horizon": (lambda b: changed(b, 21, ">h", 64), InvalidRecord),
    "timestamp type": (lambda b: changed(b, 21, ">h", 8), InvalidTimestamp),
    "unknown compression": (lambda b: changed(b, 21, ">h", 5), UnsupportedCompression),
    "transactional without producer": (lambda b: changed(b, 21, ">h", 16), InvalidRecord),
    "last offset delta": (lambda b: changed(b, 23, ">i", 4), InvalidRecord),
    "negative delta": (lambda b: changed(b, 23, ">i", -1), InvalidRecord),
    "record count": (lambda b: changed(b, 57, ">i", 0), InvalidRecord),
    "producer without sequence": (lambda b: changed(b, 43, ">q", 9), InvalidRecord),
    "checksum": (lambda b: b[:-1] + b"!", CorruptRecord),
    "length": (lambda b: b[:-1], CorruptRecord),
    "too short": (lambda b: b[:40], CorruptRecord),
    "empty": (lambda b: bytearray(), CorruptRecord),
    "two batches": (lambda b: b + b, InvalidRecord),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_bad_batch_is_refused_and_nothing_is_written(bench, name):
    make, error = BAD_BATCHES[name]
    log = bench.create()
    with pytest.raises(error):
        bench.manager.append([(log, make(sound(bench)))])
    assert (log.log_end_offset, log.size_bytes) == (0, 0)


def test_too_large_a_batch_is_refused(bench):
    log = bench.create(max_message_bytes="100")
    with pytest.raises(RecordTooLarge, match="100"):
        bench.append(log, [b"x" * 100])
    small = bench.create("small", internal_segment_bytes="120", max_message_bytes="1000")
    with pytest.raises(BatchLargerThanSegment):
        bench.append(small, [b"x" * 100])


@pytest.mark.parametrize(("offset_ms", "is_accepted"), [(3_600_000, True), (3_600_001, False)])
def test_timestamp_from_the_future_is_refused(bench, offset_ms, is_accepted):
    log = bench.create()
    timestamp_ms = bench.clock.now_ms() + offset_ms
    if is_accepted:
        assert bench.append(log, [b"v"], timestamp_ms=timestamp_ms).base_offset == 0
    else:
        with pytest.raises(InvalidTimestamp):
            bench.append(log, [b"v"], timestamp_ms=timestamp_ms)


def test_timestamp_from_the_past_is_refused_where_the_topic_says_so(bench):
    log = bench.create(message_timestamp_before_max_ms="1000")
    now_ms = bench.clock.now_ms()
    bench.append(log, [b"v"], timestamp_ms=now_ms - 1000)
    with pytest.raises(InvalidTimestamp) as caught:
        bench.append(log, [b"v", b"w"], timestamp_ms=now_ms - 1001)
    assert [index for index, _ in caught.value.record_errors] == [0, 1]


def test_log_append_time_replaces_all_timestamps(bench):
    log = bench.create(message_timestamp_type="LogAppendTime")
    appended = bench.append(log, [b"a", b"b"], timestamp_ms=5)
    now_ms = bench.clock.now_ms()
    batch = next(log.records_from())
    header = read_header(batch)
    assert appended.log_append_time_ms == now_ms == header.max_timestamp
    assert header.is_log_append_time
    assert {record.timestamp_ms for record in decode_records(batch)} == {now_ms}


def test_compacted_topic_wants_keys(bench):
    log = bench.create(cleanup_policy="compact")
    with pytest.raises(InvalidRecord) as caught:
        bench.manager.append(
            [(log, build_batch([(b"k", b""), (None, b"")], timestamp_ms=bench.clock.now_ms()))]
        )
    assert [index for index, _ in caught.value.record_errors] == [1]
    assert bench.manager.append([(log, sound(bench))])[0].base_offset == 0


@pytest.mark.parametrize("name", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_topic_may_have_its_own_compression(bench, name):
    log = bench.create(compression_type=name)
    bench.append(log, [b"v" * 500], compression=Compression.GZIP, timestamp_ms=7)
    bench.append(log, [b"w" * 500], producer_id=3, producer_epoch=1, base_sequence=2)
    stored = list(log.records_from())
    wanted = Compression.NONE if name == "uncompressed" else Compression[name.upper()]
    assert [read_header(batch).compression for batch in stored] == [wanted, wanted]
    assert decode_records(stored[0])[0].value == b"v" * 500
    assert decode_records(stored[0])[0].timestamp_ms == 7
    assert (read_header(stored[1]).producer_id, read_header(stored[1]).base_sequence) == (3, 2)


@pytest.mark.parametrize("codec", list(Compression))
def test_producers_compression_is_passed_through_unopened(bench, codec):
    log = bench.create()
    batch = sound(bench, compression=codec)
    bench.manager.append([(log, batch)])
    assert next(log.records_from()) == bytes(batch)


def test_coordinator_is_checked_for_framing_alone(bench):
    log = bench.create(cleanup_policy="compact")
    batch = bench.batch([b"no key"], base_offset=9)
    assert bench.manager.append([(log, batch)], origin=Origin.COORDINATOR)[0].base_offset == 0
    with pytest.raises(CorruptRecord):
        bench.manager.append([(log, batch[:-1])], origin=Origin.COORDINATOR)
    with pytest.raises(CorruptRecord):
        bench.manager.append([(log, bytearray(10))], origin=Origin.COORDINATOR)


@pytest.mark.parametrize(
    ("codec", "thorough", "fast"),
    [("gzip", "9", "1"), ("zstd", "22", "-5"), ("lz4", "17", "9")],
)
def test_topics_compression_has_the_topics_level(bench, codec, thorough, fast):
    # Text that is worth searching: repetitions far apart, and none next to each other.
    values = [b"%d %d" % (number * 7919 % 1009, number * 104729 % 997) for number in range(4_000)]
    sizes = []
    for level in (thorough, fast):
        overrides = {"compression_type": codec, f"compression_{codec}_level": level}
        log = bench.create(topic=f"{codec}{level}", **overrides)
        bench.append(log, values)
        stored = next(log.records_from())
        assert [record.value for record in decode_records(stored)] == values
        sizes.append(len(stored))
    assert sizes[0] < sizes[1]
