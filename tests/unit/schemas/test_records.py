"""The bytes of the records, which another registry must understand, and back."""

from __future__ import annotations

import pytest

from headrace.model.errors import CorruptRecord
from headrace.schemas.model import Compatibility, Kind, Mode, Reference, Registered, Schema
from headrace.schemas.records import (
    CompatibilityRecord,
    DeleteSubjectRecord,
    HighestIdRecord,
    ModeRecord,
    RegistryRecord,
    SchemaRecord,
    decode,
    encode,
)

PLAIN = Registered("s", 1, 7, Schema('"int"'))
RICH = Registered("s", 2, 8, Schema("{}", Kind.JSON, (Reference("n", "o", 3),)), is_deleted=True)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (
            SchemaRecord("s", 1, PLAIN),
            b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            rb'{"subject":"s","version":1,"id":7,"schema":"\"int\"","deleted":false}',
        ),
        (
            SchemaRecord("s", 2, RICH),
            b'{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}',
            b'{"subject":"s","version":2,"id":8,"schemaType":"JSON","references":'
            b'[{"name":"n","subject":"o","version":3}],"schema":"{}","deleted":true}',
        ),
        (
            SchemaRecord("s", 1, None),
            b'{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            None,
        ),
        (
            CompatibilityRecord(None, Compatibility.FULL),
            b'{"keytype":"CONFIG","subject":null,"magic":0}',
            b'{"compatibilityLevel":"FULL"}',
        ),
        (
            CompatibilityRecord("s", None),
            b'{"keytype":"CONFIG","subject":"s","magic":0}',
            None,
        ),
        (
            ModeRecord("s", Mode.IMPORT),
            b'{"keytype":"MODE","subject":"s","magic":0}',
            b'{"mode":"IMPORT"}',
        ),
        (
            DeleteSubjectRecord("s", 4),
            b'{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}',
            b'{"subject":"s","version":4}',
        ),
        (
            HighestIdRecord(9),
            b'{"keytype":"NOOP","magic":0}',
            b'{"highestId":9}',
        ),
    ],
)
def test_bytes(record: RegistryRecord, key: bytes, value: bytes | None) -> None:
    assert encode(record) == (key, value)
    assert decode(key, value) == record


@pytest.mark.parametrize("kind", ["NOOP", "CONTEXT", "CLEAR_SUBJECT"])
def test_records_that_mean_nothing_here_are_left_alone(kind: str) -> None:
    assert decode(f'{{"keytype":"{kind}","magic":0}}'.encode(), None) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"{", None),
        (b"[]", None),
        (b"{}", None),
        (b'{"keytype":"SCHEMA","subject":"s","version":"x"}', None),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":true,"schema":""}'),
        (b'{"keytype":"SCHEMA","subject":"s","version":-1}', None),
        (b'{"keytype":"SCHEMA","subject":"s","version":1}', b'{"id":2147483648,"schema":""}'),
        (b'{"keytype":"NOOP"}', b'{"highestId":4294967296}'),
        (b'{"keytype":"CONFIG","subject":["s"]}', b'{"compatibilityLevel":"NONE"}'),
        (b'{"keytype":"MODE","subject":{}}', None),
        (b'{"keytype":"CONFIG","subject":"s"}', b'{"compatibilityLevel":"SOME"}'),
        (b"\xff", None),
    ],
)
def test_unreadable_records(key: bytes, value: bytes | None) -> None:
    with pytest.raises(CorruptRecord):
        decode(key, value)
