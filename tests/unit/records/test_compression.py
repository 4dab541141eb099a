"""Codecs against other implementations, and bombs against the bound."""

from __future__ import annotations

import contextlib
import gzip
import os
import tracemalloc

import cramjam
import lz4.frame
import pytest
import zstandard
from aiokafka.codec import snappy_decode, snappy_encode
from hypothesis import given
from hypothesis import strategies as st

from headrace.model.errors import CorruptRecord, RecordTooLarge, UnsupportedCompression
from headrace.records.compression import Compression, compress, decompress

CODECS = [codec for codec in Compression if codec is not Compression.NONE]
SAMPLES = [b"", b"a", b"abc" * 100_000, os.urandom(200_000)]


@pytest.mark.parametrize("codec", list(Compression))
@pytest.mark.parametrize("data", SAMPLES, ids=len)
def test_data_round_trips(codec: Compression, data: bytes) -> None:
    for buffer in (data, bytearray(data), memoryview(data)):
        assert decompress(codec, compress(codec, buffer), len(data)) == data


@pytest.mark.parametrize("level", [1, 9])
@pytest.mark.parametrize("codec", CODECS)
def test_data_round_trips_at_a_level(codec: Compression, level: int) -> None:
    data = os.urandom(1000) * 30
    assert decompress(codec, compress(codec, data, level), len(data)) == data


def test_lz4_level_counts_and_others_read_it() -> None:
    words = [os.urandom(5).hex().encode() for _ in range(300)]
    data = b" ".join(words[number * number % 300] + words[number % 299] for number in range(20_000))
    fast, thorough = (compress(Compression.LZ4, data, level) for level in (1, 12))
    assert len(thorough) < len(fast)
    frame = lz4.frame.get_frame_info(thorough)
    assert (frame["block_linked"], frame["block_size"]) == (False, 65_536)
    assert lz4.frame.decompress(thorough) == lz4.frame.decompress(fast) == data


@given(st.sampled_from(CODECS), st.binary(max_size=5000), st.integers(1, 60))
def test_any_data_round_trips(codec: Compression, data: bytes, times: int) -> None:
    data *= times
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("data", SAMPLES[1:], ids=len)
def test_others_read_what_we_write(data: bytes) -> None:
    assert gzip.decompress(compress(Compression.GZIP, data)) == data
    assert snappy_decode(compress(Compression.SNAPPY, data)) == data
    assert lz4.frame.decompress(compress(Compression.LZ4, data)) == data
    reader = zstandard.ZstdDecompressor().decompressobj()
    assert reader.decompress(compress(Compression.ZSTD, data)) == data


@pytest.mark.parametrize("data", SAMPLES[1:], ids=len)
def test_we_read_what_others_write(data: bytes) -> None:
    size = len(data)
    assert decompress(Compression.GZIP, gzip.compress(data), size) == data
    assert decompress(Compression.SNAPPY, snappy_encode(data), size) == data
    raw_snappy = bytes(cramjam.snappy.compress_raw(data))
    assert decompress(Compression.SNAPPY, raw_snappy, size) == data
    for linked in (True, False):
        frame = lz4.frame.compress(data, block_linked=linked, content_checksum=True)
        assert decompress(Compression.LZ4, frame, size) == data
    stream = zstandard.ZstdCompressor(level=1).compressobj()
    without_size = stream.compress(data) + stream.flush()
    assert decompress(Compression.ZSTD, without_size, size) == data


def test_several_frames_are_read_as_one() -> None:
    assert (
        decompress(Compression.ZSTD, zstandard.compress(b"ab") + zstandard.compress(b"c"), 9)
        == b"abc"
    )
    assert decompress(Compression.GZIP, gzip.compress(b"ab") + gzip.compress(b"c"), 9) == b"abc"
    assert (
        decompress(Compression.LZ4, lz4.frame.compress(b"ab") + lz4.frame.compress(b"c"), 9)
        == b"abc"
    )


def test_lz4_blocks_are_independent_as_the_java_client_demands() -> None:
    flags = compress(Compression.LZ4, b"x" * 200_000)[4]
    assert flags & 0x20


@pytest.mark.parametrize("codec", list(Compression))
def test_one_byte_too_many_is_too_large(codec: Compression) -> None:
    data = b"abcd" * 50_000
    with pytest.raises(RecordTooLarge, match="199999"):
        decompress(codec, compress(codec, data), len(data) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_bombs_do_not_allocate(codec: Compression) -> None:
    bomb = compress(codec, bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(RecordTooLarge):
            decompress(codec, bomb, 1_000_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3_000_000


def test_snappy_that_lies_about_its_size_is_refused_before_allocating() -> None:
    claims_four_gigabytes = b"\xff\xff\xff\xff\x0f" + b"\x00a"
    with pytest.raises(CorruptRecord, match="cannot hold"):
        decompress(Compression.SNAPPY, claims_four_gigabytes, 1 << 40)


@pytest.mark.parametrize("codec", CODECS)
def test_cut_or_damaged_data_is_corrupt_or_differs(codec: Compression) -> None:
    packed = compress(codec, b"0123456789" * 40)
    for cut in range(len(packed)):
        try:
            assert len(decompress(codec, packed[:cut], 400)) < 400
        except CorruptRecord:
            continue
    for index in range(len(packed)):
        damaged = bytearray(packed)
        damaged[index] ^= 0xFF
        try:
            assert len(decompress(codec, damaged, 400)) <= 400
        except (CorruptRecord, RecordTooLarge):
            continue


@given(st.sampled_from(CODECS), st.binary(max_size=300))
def test_garbage_raises_nothing_but_named_errors(codec: Compression, garbage: bytes) -> None:
    with contextlib.suppress(CorruptRecord, RecordTooLarge):
        assert len(decompress(codec, garbage, 1000)) <= 1000


def test_unknown_codecs_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedCompression, match="7"):
        compress(7, b"x")
    with pytest.raises(UnsupportedCompression, match="5"):
        decompress(5, b"x", 10)
