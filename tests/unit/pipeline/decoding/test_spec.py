"""From the options of a job to a decoder, and how it grows."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.decoding.model import FIELDS_MAX
from headrace.pipeline.decoding.spec import DecoderSpec, make_decoder, spec_from_options
from headrace.pipeline.errors import SchemaConflict

from .values import binary, rows

if TYPE_CHECKING:
    from pathlib import Path

AVRO = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
PROTO = 'syntax = "proto3"; message A { int64 id = 1; } message B { string name = 1; }'


def test_raw_is_the_default() -> None:
    spec = spec_from_options({})
    assert rows(make_decoder(spec).decode(binary(b"x", None))) == [{"value": b"x"}, {"value": None}]
    assert not spec.is_discovering


@pytest.mark.parametrize(
    ("options", "value", "row"),
    [
        ({"format": "avro", "schema": AVRO}, b"\x0a", {"id": 5}),
        (
            {
                "format": "json-schema",
                "schema": '{"type": "object", "properties": {"id": {"type": "integer"}}}',
            },
            b'{"id": 5}',
            {"id": 5},
        ),
        ({"format": "protobuf", "schema": PROTO}, b"\x08\x05", {"id": 5}),
        ({"format": "protobuf", "schema": PROTO, "message": "B"}, b"\x0a\x01n", {"name": "n"}),
    ],
)
def test_declared_formats(options: dict[str, str], value: bytes, row: dict[str, object]) -> None:
    if options["format"] == "protobuf":
        pytest.importorskip("proto_schema_parser")
    spec = pickle.loads(pickle.dumps(spec_from_options(options)))
    assert rows(make_decoder(spec).decode(binary(value))) == [row]


def test_the_table_may_have_more_columns() -> None:
    fields = pa.schema([("older", pa.string()), ("id", pa.int64())])
    spec = spec_from_options({"format": "avro", "schema": AVRO}).with_fields([fields])
    decoder = make_decoder(spec)
    assert decoder.schema() == fields
    assert rows(decoder.decode(binary(b"\x0a"))) == [{"older": None, "id": 5}]


def test_a_schema_that_contradicts_the_table_is_refused() -> None:
    fields = pa.schema([("id", pa.string())])
    spec = spec_from_options({"format": "avro", "schema": AVRO}).with_fields([fields])
    with pytest.raises(SchemaConflict, match="field id"):
        make_decoder(spec)


def test_schemas_come_from_files(tmp_path: Path) -> None:
    file = tmp_path / "r.avsc"
    file.write_text(AVRO)
    assert spec_from_options({"format": "avro", "schema_file": str(file)}).text == AVRO
    file.write_bytes(b"\xff")
    with pytest.raises(InvalidConfig, match="no text"):
        spec_from_options({"format": "avro", "schema_file": str(file)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xml"}, "not 'xml'"),
        ({"frmat": "raw"}, "no option frmat"),
        ({"format": "avro"}, "needs schema_file or schema"),
        ({"format": "avro", "schema_file": "nowhere.avsc"}, "nowhere.avsc"),
        ({"format": "registry"}, "needs registry_url"),
        ({"format": "json-schema", "schema": "{}", "validate": "yes"}, "validate is true or false"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        spec_from_options(options)


def test_secrets_are_not_shown() -> None:
    spec = spec_from_options(
        {"format": "registry", "registry_url": "http://r", "registry_password": "secret"}
    )
    assert "secret" not in repr(spec)


def test_guesses_are_merged_and_known_fields_keep_their_types() -> None:
    spec = DecoderSpec("json", fields=pa.schema([("id", pa.int64())]))
    found = [
        pa.schema([("x", pa.int64()), ("id", pa.string()), ("ID", pa.int64())]),
        pa.schema([("x", pa.float64()), ("X", pa.string())]),
    ]
    assert spec.with_fields(found).fields == pa.schema([("id", pa.int64()), ("x", pa.float64())])
    assert spec.is_discovering


def test_there_is_an_end_to_new_fields() -> None:
    many = pa.schema([(f"f{number}", pa.int64()) for number in range(FIELDS_MAX + 5)])
    assert len(DecoderSpec("json").with_fields([many]).fields) == FIELDS_MAX
