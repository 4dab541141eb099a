"""Records unpacked into memory that is used again."""

import pytest

from headrace.model.errors import CorruptRecord, RecordTooLarge
from headrace.records.compression import Compression, compress
from headrace.records.unpacking import FIRST_BYTES, KEPT_BYTES_MAX, Unpacker

CODECS = [codec for codec in Compression if codec is not Compression.NONE]
LIMIT = 8 * 2**20


def added(unpacker: Unpacker, codec: int, records: bytes) -> int:
    size = unpacker.unpack(codec, compress(codec, records))
    unpacker.keep(size)
    return size


@pytest.mark.parametrize("codec", CODECS)
def test_records_lie_one_behind_the_other(codec: Compression):
    unpacker = Unpacker(LIMIT)
    assert [added(unpacker, codec, text) for text in (b"one", b"two" * 1000)] == [3, 3000]
    assert unpacker.data[: unpacker.used] == b"one" + b"two" * 1000


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_larger_than_the_memory_gets_more_of_it(codec: Compression):
    unpacker = Unpacker(LIMIT)
    added(unpacker, codec, b"first")
    large = bytes(3 * FIRST_BYTES)
    assert added(unpacker, codec, large) == len(large)
    assert unpacker.data[: unpacker.used] == b"first" + large


@pytest.mark.parametrize("codec", CODECS)
def test_more_than_a_batch_may_hold_is_refused_and_the_rest_is_untouched(codec: Compression):
    unpacker = Unpacker(100_000)
    added(unpacker, codec, b"first")
    assert added(unpacker, codec, bytes(100_000)) == 100_000
    with pytest.raises(RecordTooLarge):
        unpacker.unpack(codec, compress(codec, bytes(100_001)))
    assert unpacker.data[: unpacker.used] == b"first" + bytes(100_000)


@pytest.mark.parametrize("codec", CODECS)
def test_what_was_not_kept_is_written_over(codec: Compression):
    unpacker = Unpacker(LIMIT)
    unpacker.unpack(codec, compress(codec, b"turned out to be bad"))
    added(unpacker, codec, b"good")
    assert unpacker.data[: unpacker.used] == b"good"


@pytest.mark.parametrize("codec", [*CODECS[1:], Compression.GZIP])
def test_nonsense_is_named(codec: Compression):
    with pytest.raises(CorruptRecord):
        Unpacker(LIMIT).unpack(codec, b"\xff" * 40)


def test_memory_is_kept_but_not_that_of_a_giant():
    unpacker = Unpacker(2 * KEPT_BYTES_MAX)
    added(unpacker, Compression.LZ4, b"small")
    unpacker.clear()
    kept = unpacker.data
    added(unpacker, Compression.LZ4, b"small")
    assert unpacker.data is kept
    added(unpacker, Compression.LZ4, bytes(KEPT_BYTES_MAX + 1))
    unpacker.clear()
    assert not unpacker.used
    assert not unpacker.data
