"""Protobuf: text and descriptor, what is refused, what can be read with what."""

from __future__ import annotations

import pytest

from headrace.schemas.errors import InvalidSchema
from headrace.schemas.kinds import parse
from headrace.schemas.model import Dependency, Kind
from headrace.schemas.protobuf_schema import ProtobufSchema

RICH = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order {
  reserved 4, 6 to 8;
  reserved "old";
  optional string note = 1;
  map<string, Line> lines_by_name = 2;
  oneof payment { int32 card = 3; Line other = 5; }
  message Line { repeated int64 counts = 1; }
  enum State { NEW = 0; }
  State state = 9;
  google.protobuf.Timestamp time = 10;
}
"""


TWO = "message N {} message O {}"


def message(fields: str, rest: str = "") -> str:
    return f'syntax = "proto3"; message M {{ {fields} }} {rest}'


def problems(reader: str, writer: str) -> list[str]:
    return parse(Kind.PROTOBUF, reader).problems_reading(parse(Kind.PROTOBUF, writer))


def test_text_and_descriptor_are_the_same_messages() -> None:
    text = parse(Kind.PROTOBUF, RICH)
    assert isinstance(text, ProtobufSchema)
    binary = parse(Kind.PROTOBUF, text.serialized)
    assert isinstance(binary, ProtobufSchema)
    assert binary.serialized == text.serialized
    assert text.problems_reading(binary) == binary.problems_reading(text) == []
    assert text.canonical == RICH.strip()


def test_normalized_text_has_one_layout() -> None:
    one = parse(Kind.PROTOBUF, message("int32 a = 1;"))
    other = parse(Kind.PROTOBUF, message("\n\n  int32   a=1 ;"))
    assert one.normalized == other.normalized


@pytest.mark.parametrize(
    "text",
    [
        "message {{",
        message("Missing m = 1;"),
        message("int32 a = 1; int32 b = 1;"),
        message("int32 a = 0;"),
        message("int32 a = 99999999999;"),
        message("reserved 5 to 2;"),
        'syntax = "proto9";',
        'edition = "2023"; message M {}',
        'syntax = "proto3"; import "missing.proto";',
        "eyJhIjoxfQ==",
    ],
)
def test_broken(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidSchema):
        parse(Kind.PROTOBUF, text)
    assert capfd.readouterr() == ("", "")


def test_import_is_found_by_its_name() -> None:
    user = 'syntax = "proto3"; import "item.proto"; message Basket { Item item = 1; }'
    item = 'syntax = "proto3"; message Item { string name = 1; }'
    parsed = parse(Kind.PROTOBUF, user, (Dependency("item.proto", item),))
    assert parsed.problems_reading(parsed) == []


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (message("int32 a = 1; string b = 2;"), message("int32 a = 1;")),
        (message("int32 a = 1;"), message("int32 a = 1; string b = 2;")),
        (message("int32 other = 1;"), message("int32 a = 1;")),
        (message("int64 a = 1;"), message("uint32 a = 1;")),
        (message("bytes a = 1;"), message("string a = 1;")),
        (message("repeated string a = 1;"), message("string a = 1;")),
        (message("", "message N {}"), message("")),
        (message("oneof o { int32 a = 1; int32 b = 2; }"), message("oneof o { int32 a = 1; }")),
        (message("oneof o { int32 a = 1; }"), message("int32 a = 1;")),
        (message("E e = 1;", "enum E { A = 0; B = 1; }"), message("E e = 1;", "enum E { A = 0; }")),
    ],
)
def test_readable(reader: str, writer: str) -> None:
    assert problems(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (message("string a = 1;"), message("int32 a = 1;")),
        (message("sint32 a = 1;"), message("int32 a = 1;")),
        (message("repeated int32 a = 1;"), message("int32 a = 1;")),
        (message(""), message("", "message N {}")),
        (message("O n = 1;", TWO), message("N n = 1;", TWO)),
        (message("oneof o { int32 a = 1; int32 b = 2; }"), message("int32 a = 1; int32 b = 2;")),
        (message("oneof o { int32 a = 1; }"), message("oneof o { int32 a = 1; int32 b = 2; }")),
        ("message M { required int32 a = 1; }", "message M {}"),
        ("message M { optional int32 a = 1; }", "message M { required int32 a = 1; }"),
    ],
)
def test_unreadable(reader: str, writer: str) -> None:
    assert problems(reader, writer) != []
