"""Damaged batches come back with a reason, harm no other batch, and never show foreign memory.

The checksum is switched off or set right in most of these tests: the decoder's own bounds are what
is tried. The data lies between poison, which must not turn up in any column. A slow test repeats
all of this with a loop that was compiled to check every index.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.records import column_kernel
from headrace.records.build import assemble, build_batch
from headrace.records.columns import ColumnDecoder, Columns
from headrace.records.compression import Compression, compress
from headrace.records.header import HEADER_SIZE, read_header, stamp_crc
from headrace.records.record import Header, Record
from headrace.records.varint import append_varint

ENDLESS = 2**62
POISON = bytes.fromhex("a5d0f00dbad5eedc0ffee1a9e5b0b5ea") * 512
RECORDS = [
    Record(0, 1000, b"key", b"value" * 20, (Header("h", b"1"), Header("ü", None))),
    Record(1, 900, None, b""),
    Record(2, 1 << 40, b"", None),
]
KNOWN = build_batch([(b"known", b"good")], base_offset=100)
CHECKS_INDEXES = column_kernel.COPIES_ARE_CHECKED


@pytest.fixture(scope="module", params=[True, False], ids=["compiled", "plain"])
def is_compiled(request):
    return request.param


def decode(data: bytes, *, is_compiled: bool = True, start: int = 0, **settings) -> Columns:
    """Decode with poison on both sides of the data."""
    buffer = memoryview(POISON + bytes(data) + POISON)[len(POISON) : -len(POISON)]
    decoder = ColumnDecoder(is_compiled=is_compiled, **settings)
    columns = decoder.decode(buffer, start=start, end=ENDLESS)
    columns.batch.validate(full=True)
    for array in columns.batch.columns:
        for part in array.buffers():
            assert part is None or POISON[:6] not in part.to_pybytes()
    assert all(bad.reason and POISON[:6] not in bad.data for bad in columns.bad)
    return columns


def varint(number: int) -> bytes:
    target = bytearray()
    append_varint(target, number)
    return bytes(target)


def record(*parts: bytes, length: int | None = None, delta: int = 0) -> bytes:
    """A record of offset ``delta``; ``parts`` are all that comes behind the two deltas."""
    content = b"\0" + varint(0) + varint(delta) + b"".join(parts)
    return varint(len(content) if length is None else length) + content


NULL, NONE = varint(-1), varint(0)
GOOD = record(NULL, varint(2) + b"ok", NONE)
TOO_LONG = b"\xff" * 5 + b"\x01"
CASES = {
    "no record": (b"", "do not fit into"),
    "length cut off": (b"\xff" * 8, "longer than"),
    "length beyond the batch": (record(NULL, NULL, NONE, length=9), "length does not fit"),
    "length negative": (record(NULL, NULL, NONE, length=-5), "length does not fit"),
    "length huge": (record(NULL, NULL, NONE, length=2**31 - 1), "length does not fit"),
    "length too small": (record(NULL, NULL, NONE, length=5), "length does not fit"),
    "length too large": (record(NULL, NULL, NONE, b"x"), "does not end where"),
    "length of five bytes and more": (TOO_LONG + GOOD, "longer than"),
    "key length cut off": (record(b"\xff\xff\xff"), "cut off"),
    "key length too long": (record(TOO_LONG, NULL, NONE), "longer than"),
    "key length negative": (record(varint(-2), NULL, NONE), "negative length"),
    "key beyond the record": (record(varint(4), NULL, NONE) + GOOD, "beyond its record"),
    "key as long as can be": (record(varint(2**31 - 1), NULL, NONE), "beyond its record"),
    "key as negative as can be": (record(varint(-(2**31)), NULL, NONE), "negative length"),
    "value length negative": (record(NULL, varint(-9), NONE), "negative length"),
    "value beyond the record": (record(NULL, varint(2), NONE) + GOOD, "beyond its record"),
    "no header count": (record(varint(1) + b"k", varint(1) + b"v", b"\xff"), "cut off"),
    "header count negative": (record(NULL, NULL, varint(-1)), "header count"),
    "header count too large": (record(NULL, NULL, varint(9)), "header count"),
    "headers missing": (record(NULL, NULL, varint(2), NONE + NULL), "cut off"),
    "header key null": (record(NULL, NULL, varint(1), NULL, NULL), "header key is null"),
    "header key beyond": (record(NULL, NULL, varint(1), varint(3), NULL), "beyond its record"),
    "header value negative": (record(NULL, NULL, varint(1), NONE, varint(-3)), "negative"),
    "header value beyond": (record(NULL, NULL, varint(1), NONE, varint(1)), "beyond its record"),
    "offset before the batch": (record(NULL, NULL, NONE, delta=-1), "do not rise"),
    "offset after the batch": (record(NULL, NULL, NONE, delta=10), "do not rise"),
    "bytes left": (GOOD + b"\0", "left after"),
    "one record too many": (GOOD + record(NULL, NULL, NONE, delta=1), "left after"),
}

NOT_UTF8 = ("80", "c3", "c328", "c0af", "c1bf", "e08080", "eda080", "f0808080", "f4908080")
NOT_UTF8 += ("f5808080", "e282", "f09f98", "61e28261", "fe", "ff")


def batch_of(body: bytes, **changes: int) -> bytearray:
    """One record, unless the changes say otherwise, at offsets 0 to 9."""
    template = read_header(build_batch([(b"k", b"v")], last_offset=9, timestamp_ms=0))
    return assemble(template._replace(**changes), body)


def test_the_good_record_of_these_tests_is_good(is_compiled):
    found = decode(batch_of(GOOD), is_compiled=is_compiled)
    assert (found.bad, found.batch.column("value").to_pylist()) == ([], [b"ok"])


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
@pytest.mark.parametrize("case", CASES)
def test_a_wrong_record_makes_its_batch_bad(is_compiled, case, codec):
    body, reason = CASES[case]
    batch = batch_of(compress(codec, body), attributes=codec)
    found = decode(batch + KNOWN, is_compiled=is_compiled, check_crc=False)
    assert [(bad.base_offset, bad.last_offset, bad.data) for bad in found.bad] == [(0, 9, batch)]
    assert found.batch.column("value").to_pylist() == [b"good"]
    assert found.next_offset == 101
    if is_compiled:
        assert reason in found.bad[0].reason


@pytest.mark.parametrize("key", NOT_UTF8)
def test_a_header_key_that_is_not_utf8_makes_its_batch_bad(is_compiled, key):
    raw = bytes.fromhex(key)
    body = record(NULL, NULL, varint(1), varint(len(raw)), raw, NULL)
    found = decode(batch_of(body) + KNOWN, is_compiled=is_compiled)
    assert [bad.reason for bad in found.bad] == ["a header key is not UTF-8"]
    assert found.batch.num_rows == 1


@given(st.binary(max_size=6) | st.text(max_size=4).map(str.encode))
def test_a_header_key_is_utf8_if_python_says_so(raw):
    body = record(NULL, NULL, varint(1), varint(len(raw)), raw, NULL)
    found = decode(batch_of(body))
    try:
        expected = [[{"key": raw.decode(), "value": None}]]
    except UnicodeDecodeError:
        expected = []
    assert found.batch.column("headers").to_pylist() == expected
    assert len(found.bad) == 1 - len(expected)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"record_count": -1}, "record count -1"),
        ({"record_count": 2**31 - 1}, "do not fit"),
        ({"record_count": 0}, "left after"),
        ({"last_offset_delta": -1}, "last offset delta -1"),
        ({"attributes": 5}, "compression type 5"),
        ({"attributes": 7}, "compression type 7"),
        ({"base_timestamp": 2**63 - 1}, "microseconds"),
        ({"base_timestamp": -(2**63)}, "microseconds"),
        ({"attributes": 8, "max_timestamp": 2**60}, "microseconds"),
    ],
)
def test_a_wrong_header_makes_its_batch_bad(is_compiled, changes, reason):
    found = decode(batch_of(GOOD, **changes) + KNOWN, is_compiled=is_compiled)
    assert [reason in bad.reason for bad in found.bad] == [True], found.bad
    assert found.batch.column("value").to_pylist() == [b"good"]


@pytest.mark.parametrize("codec", [c for c in Compression if c != Compression.NONE])
def test_a_bomb_is_not_unpacked(is_compiled, codec):
    bomb = batch_of(compress(codec, bytes(10_000_000)), attributes=codec)
    found = decode(bomb + KNOWN, is_compiled=is_compiled, batch_bytes_max=100_000)
    assert [bad.data for bad in found.bad] == [bomb]
    assert "more than 100000 bytes" in found.bad[0].reason
    assert found.batch.num_rows == 1


@pytest.mark.parametrize("codec", list(Compression))
@given(data=st.data())
def test_both_decoders_agree_on_damage(codec, data):
    """Whatever bytes are changed: the same rows, and the same batches are bad."""
    batch = build_batch(RECORDS, compression=codec)
    first = data.draw(st.sampled_from([HEADER_SIZE, 21]))
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(first, len(batch) - 1))] = data.draw(st.integers(0, 255))
    stamp_crc(batch, 0, len(batch))
    compiled, plain = (
        decode(batch + KNOWN, is_compiled=each, batch_bytes_max=100_000) for each in (True, False)
    )
    assert compiled.batch.equals(plain.batch)
    assert [bad._replace(reason="") for bad in compiled.bad] == [
        bad._replace(reason="") for bad in plain.bad
    ]
    assert compiled.next_offset == plain.next_offset


@given(st.binary(max_size=200), st.integers(-5, 50), st.integers(-1, 50))
def test_both_decoders_agree_on_arbitrary_records(body, count, delta):
    batch = batch_of(body, record_count=count, last_offset_delta=delta)
    compiled, plain = (decode(batch, is_compiled=each) for each in (True, False))
    assert compiled.batch.equals(plain.batch)
    assert len(compiled.bad) == len(plain.bad)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_handed_back(is_compiled, garbage):
    found = decode(garbage, is_compiled=is_compiled)
    assert found.batch.num_rows == 0
    assert [bad.data for bad in found.bad] == ([garbage] if garbage else [])
    assert found.next_position == len(garbage)


# --- the loop itself ----------------------------------------------------------------------------


@pytest.mark.skipif(not CHECKS_INDEXES, reason="the loop was compiled without checks")
def test_checks_of_the_loop_are_there():
    """A table that lies about the data, which only the builder keeps from happening."""
    data = np.frombuffer(bytes(batch_of(GOOD))[HEADER_SIZE:], np.uint8)
    data.flags.writeable = False
    numbers = (np.zeros(1, np.int64), np.zeros(1, np.int64))
    numbers += (np.zeros(1, np.int32), np.zeros(2, np.int32))
    column = (np.zeros(1, np.uint8), np.zeros(2, np.int32), np.zeros(1, np.uint8))
    counts, faults = np.zeros(6, np.int64), np.zeros(1, np.int64)
    table = np.array([[0, len(data) + 50, 0, 9, 2, 0, 0, 0]], np.int64)
    with pytest.raises(IndexError):
        column_kernel.decode_batches(data, table, 0, 9, 63, *numbers, *column * 4, counts, faults)


BOUND = """\
    if length > int64(end - position):
        return int64(0), uint64(FAULT + BEYOND_RECORD)
"""
DECODE_WITH = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("headrace.records.column_kernel", sys.argv[1])
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])
from headrace.records.columns import ColumnDecoder
from tests.fuzz.guarded_memory import GuardedMemory
data = GuardedMemory(len(sys.argv[2])).holding(bytes.fromhex(sys.argv[2]))
ColumnDecoder().decode(data, start=0, end=99)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)  # It compiles the loop.
@pytest.mark.skipif(CHECKS_INDEXES, reason="starts such a process itself")
@pytest.mark.parametrize("is_checked", [False, True], ids=["guard page", "checked indexes"])
def test_loop_that_reads_past_the_end_would_be_caught(tmp_path: Path, is_checked: bool):
    """A bound is taken out on purpose: without it the loop must not get away."""
    batch = bytes(batch_of(record(varint(2**20), NULL, NONE))).hex()
    source = Path(column_kernel.__file__).read_text()
    assert source.count(BOUND) == 1
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    if is_checked:
        environment["NUMBA_BOUNDSCHECK"] = "1"
    kernel = tmp_path / "kernel.py"
    kernel.write_text(source.replace(BOUND, ""))
    command = [sys.executable, "-c", DECODE_WITH, str(kernel), batch]
    broken = subprocess.run(command, env=environment, capture_output=True, text=True)
    if is_checked:
        assert "IndexError: a copy goes beyond its buffer" in broken.stderr
    else:
        assert broken.returncode == -signal.SIGSEGV, broken.stderr


@pytest.mark.slow
@pytest.mark.timeout(300)  # It compiles the loop.
@pytest.mark.skipif(CHECKS_INDEXES, reason="this is that run")
def test_all_of_this_holds_while_every_index_is_checked(tmp_path: Path):
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    command += ["-p", "no:xdist", "-k", "not plain", __file__]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stdout
    assert "3 skipped" in done.stdout, "all but the tests that start processes are run"


def test_without_a_place_for_the_cache_the_loop_is_compiled_all_the_same(monkeypatch):
    def njit(signature, *, cache=False, nogil, _nrt):
        if cache:
            raise RuntimeError("cannot cache function 'f': no locator available")
        return lambda function: (signature, function, nogil, _nrt)

    monkeypatch.setattr(column_kernel, "njit", njit)
    assert column_kernel.compiled("signature")(len) == ("signature", len, True, False)


def test_without_numba_plain_python_decodes():
    program = """
import sys
sys.modules["numba"] = None
from headrace.records.build import build_batch
from headrace.records.columns import HAS_NUMBA, ColumnDecoder
columns = ColumnDecoder(["value"]).decode(build_batch([(None, b"v")]), start=0, end=1)
print(HAS_NUMBA, columns.batch.to_pylist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False [{'value': b'v'}]\n", done.stderr
