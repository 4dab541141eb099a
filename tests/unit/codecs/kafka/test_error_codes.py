"""The error numbers against the oracle."""

from __future__ import annotations

from kio.schema.errors import ErrorCode as KioErrorCode

from headrace.codecs.kafka.error_codes import RETRIABLE, ErrorCode


def test_numbers_and_names_match_oracle() -> None:
    expected = {code.name.upper(): int(code) for code in KioErrorCode}
    assert {code.name: int(code) for code in ErrorCode} == expected


def test_retriable_errors_match_oracle() -> None:
    assert {int(code) for code in RETRIABLE} == {int(c) for c in KioErrorCode if c.retriable}
