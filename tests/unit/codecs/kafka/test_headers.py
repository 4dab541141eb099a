"""Headers against the oracle, and the exceptions to the rule."""

from __future__ import annotations

import io

import pytest
from kio.schema.request_header.v1.header import RequestHeader as KioHeaderV1
from kio.schema.request_header.v2.header import RequestHeader as KioHeaderV2
from kio.serial import entity_writer

from headrace.codecs.kafka import headers
from headrace.codecs.kafka.errors import MalformedMessage

from .kio_values import kio_entity


@pytest.mark.parametrize("client_id", [None, "", "client-1", "größe"])
@pytest.mark.parametrize(("version", "kio_header"), [(8, KioHeaderV1), (9, KioHeaderV2)])
def test_request_header_matches_oracle(
    version: int, kio_header: type[KioHeaderV1] | type[KioHeaderV2], client_id: str | None
) -> None:
    buffer = io.BytesIO()
    header = kio_header(
        request_api_key=0,  # type: ignore[arg-type]
        request_api_version=version,  # type: ignore[arg-type]
        correlation_id=-77,  # type: ignore[arg-type]
        client_id=client_id,
    )
    entity_writer(kio_header)(buffer, header)  # type: ignore[arg-type]
    expected = buffer.getvalue()
    assert headers.encode_request_header(0, version, -77, client_id) == expected
    decoded = headers.decode_request_header(b"\xff\xff" + expected, 2)
    assert decoded == (0, version, -77, client_id, len(expected) + 2)


def test_request_header_skips_tagged_fields() -> None:
    data = headers.encode_request_header(0, 9, 1, "c")[:-1] + b"\x01\x05\x03abc" + b"body"
    assert headers.decode_request_header(data)[4] == len(data) - 4


def test_request_header_is_read_for_unknown_keys_and_versions() -> None:
    data = headers.encode_request_header(999, 7, 5, None)
    assert headers.decode_request_header(data) == (999, 7, 5, None, 10)
    data = headers.encode_request_header(18, 99, 5, "c")
    assert headers.decode_request_header(data)[:4] == (18, 99, 5, "c")


@pytest.mark.parametrize("version", [8, 9])
def test_truncated_request_header_is_refused(version: int) -> None:
    data = headers.encode_request_header(0, version, 1, "client")
    for size in range(len(data)):
        with pytest.raises(MalformedMessage):
            headers.decode_request_header(data[:size])


def test_request_header_refuses_a_client_id_that_is_not_utf8() -> None:
    with pytest.raises(MalformedMessage):
        headers.decode_request_header(b"\x00\x00\x00\x08\x00\x00\x00\x01\x00\x01\xff")


@pytest.mark.slow
def test_flexible_headers_match_oracle_for_every_api_and_version() -> None:
    for key, (_, first, last, _, _) in headers.APIS.items():
        for version in range(first, last + 1):
            request = kio_entity(key, version, "request").__header_schema__.__version__
            response = kio_entity(key, version, "response").__header_schema__.__version__
            assert headers.request_header_is_flexible(key, version) == (request == 2)
            assert headers.response_header_is_flexible(key, version) == (response == 1)


def test_api_versions_response_header_is_never_flexible() -> None:
    assert headers.request_header_is_flexible(18, 3)
    assert not any(headers.response_header_is_flexible(18, version) for version in range(100))


@pytest.mark.parametrize(("is_flexible", "expected"), [(False, b"\0\0\0\7"), (True, b"\0\0\0\7\0")])
def test_response_header_round_trip(is_flexible: bool, expected: bytes) -> None:
    assert headers.encode_response_header(7, is_flexible) == expected
    assert headers.decode_response_header(expected, is_flexible) == (7, len(expected))
    frame = headers.encode_response_frame(7, is_flexible, body_size=100)
    assert frame == (len(expected) + 100).to_bytes(4, "big") + expected


def test_truncated_response_header_is_refused() -> None:
    for size in range(5):
        with pytest.raises(MalformedMessage):
            headers.decode_response_header(b"\0\0\0\7\0"[:size], is_flexible=True)
