"""What the ceiling compresses is what Parquet's pages hold."""

import pytest

from bench.lake import codec_ceiling
from bench.lake.shapes import SMALL


@pytest.fixture(autouse=True)
def _small_sample(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(codec_ceiling, "SAMPLE_BYTES", 200_000)


def test_pages_hold_every_key_and_value_with_its_length():
    pages, rows = codec_ceiling.pages_of(SMALL)
    assert rows == 200_000 // SMALL.record_bytes
    assert sum(map(len, pages)) == rows * (SMALL.record_bytes + 2 * 4)
    assert pages[0].startswith(b"\x10\x00\x00\x00customer-")


def test_a_rate_and_a_ratio_come_of_it():
    found = codec_ceiling.compress_for(SMALL, "snappy", seconds=0.01)
    assert found.rows_per_second > 0
    assert found.ratio > 1.5
