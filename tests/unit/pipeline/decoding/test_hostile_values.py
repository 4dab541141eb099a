"""Mutated values through every decoder: each ends as a row or with a reason, nothing is raised."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from google.protobuf.message_factory import GetMessageClass

from headrace.pipeline.decoding.avro_decoder import AvroDecoder
from headrace.pipeline.decoding.json_decoder import JsonDecoder
from headrace.pipeline.decoding.json_schema_decoder import json_schema_decoder
from headrace.pipeline.decoding.json_shape import open_shape
from headrace.pipeline.decoding.protobuf_decoder import ProtobufDecoder, link, message_by_name

from .test_avro_decoder import FAST, SLOW, SLOW_ROW, fast_row
from .test_json_decoder import FIELDS
from .test_json_schema_decoder import FLAT, NESTED
from .test_protobuf_decoder import order_file
from .values import avro, binary

if TYPE_CHECKING:
    from headrace.pipeline.decoding.model import ValueDecoder

VALUES = 400
JSON_VALUE = (
    b'{"id": 5, "name": "n\\u00e4", "amount": -1.5e3, "ok": true, "numbers": [1, 2],'
    b' "i": 7, "inner": {"q": 1}, "list": [3], "at": "2024-01-01T00:00:00Z", "lines": [{"q": 1}]}'
)


def protobuf() -> tuple[ValueDecoder, bytes]:
    descriptor = message_by_name(link(order_file()), "Order")
    message = GetMessageClass(descriptor)(id=5, name="n", wide=7, data=b"x", tags=["a", "b"])
    message.line.q = 4
    return ProtobufDecoder(descriptor), message.SerializeToString()


def subject(name: str) -> tuple[ValueDecoder, bytes]:
    if name == "protobuf":
        return protobuf()
    if name == "avro":
        return AvroDecoder(json.dumps(FAST)), avro(FAST, fast_row(4))
    if name == "avro by fastavro":
        return AvroDecoder(json.dumps(SLOW)), avro(SLOW, SLOW_ROW)
    if name == "json":
        return JsonDecoder(open_shape(FIELDS)), JSON_VALUE
    schema = FLAT if name == "json schema" else NESTED
    return json_schema_decoder(json.dumps(schema)), JSON_VALUE


def mutated(value: bytes, chance: random.Random) -> bytes:
    """One to four bytes changed, taken out or put in; sometimes a cut."""
    result = bytearray(value)
    for _ in range(chance.randint(1, 4)):
        position = chance.randrange(len(result) + 1)
        what = chance.randrange(4)
        if what == 0 and position < len(result):
            result[position] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        elif what == 1:
            result[position:position] = chance.randbytes(chance.randint(1, 10))
        elif what == 2:
            del result[position : position + chance.randint(1, 5)]
        elif chance.random() < 0.3:
            del result[position:]
    return bytes(result)


@pytest.mark.parametrize(
    "name", ["json", "json schema", "json one by one", "avro", "avro by fastavro", "protobuf"]
)
def test_every_value_is_a_row_or_has_a_reason(name: str) -> None:
    decoder, value = subject(name)
    chance = random.Random(6)
    values = [value if chance.random() < 0.2 else mutated(value, chance) for _ in range(VALUES)]
    decoded = decoder.decode(binary(*values))
    good = list(range(VALUES)) if decoded.good is None else decoded.good.to_pylist()
    bad = [one.index for one in decoded.bad]
    assert sorted([*good, *bad]) == list(range(VALUES))
    assert all(one.reason for one in decoded.bad)
    decoded.columns.validate(full=True)
    assert decoded.columns.schema == decoder.schema()
    assert decoded.columns.num_rows == len(good)
    untouched = {index for index, one in enumerate(values) if one == value}
    assert untouched <= set(good), "a good record suffers from no bad one"
    expected = decoder.decode(binary(value)).columns
    rows = pa.Table.from_batches([decoded.columns])
    for place, index in enumerate(good):
        if index in untouched:
            assert rows.slice(place, 1).to_pylist() == expected.to_pylist()
