"""Types that every table has."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from headrace.pipeline.decoding.storable import MOMENT, convert, storable, to_storable


@pytest.mark.parametrize(
    ("kind", "kept"),
    [
        (pa.int64(), pa.int64()),
        (pa.uint32(), pa.int64()),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.null(), pa.string()),
        (pa.large_string(), pa.string()),
        (pa.timestamp("ns"), MOMENT),
        (pa.duration("ns"), pa.int64()),
        (pa.time32("ms"), pa.int64()),
        (pa.binary(4), pa.binary()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string()),
        (pa.list_(pa.uint8()), pa.list_(pa.int32())),
        (pa.map_(pa.string(), pa.uint8()), pa.map_(pa.string(), pa.int32())),
        (
            pa.struct([pa.field("a", pa.uint8(), nullable=False)]),
            pa.struct([pa.field("a", pa.int32())]),
        ),
    ],
)
def test_types(kind: pa.DataType, kept: pa.DataType) -> None:
    assert storable(kind) == kept


def test_values_follow_their_types() -> None:
    second = datetime.timedelta(seconds=1)
    assert convert(pa.array([second], pa.duration("ns")), pa.int64()).to_pylist() == [1_000_000]
    assert convert(pa.array([datetime.time(0, 1)], pa.time32("s")), pa.int64()).to_pylist() == [
        60_000_000
    ]
    batch = pa.RecordBatch.from_pydict({"u": pa.array([2**64 - 1], pa.uint64())})
    schema = pa.schema([("u", storable(pa.uint64()))])
    assert int(to_storable(batch, schema).to_pylist()[0]["u"]) == 2**64 - 1
