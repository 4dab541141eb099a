"""The registry: names, versions and lazily found codecs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.codecs.kafka import messages
from headrace.codecs.kafka.errors import UnsupportedMessage
from headrace.codecs.kafka.generated import produce

LISTING = """
import sys
import headrace.codecs.kafka.messages as messages
before = [name for name in sys.modules if ".generated." in name]
messages.request_decoder(0, 9)
after = [name for name in sys.modules if ".generated." in name]
print(",".join(before))
print(",".join(sorted(set(after) - set(before))))
"""


def test_names_and_keys_are_inverse() -> None:
    assert messages.API_NAMES[0] == "produce"
    assert {messages.API_KEYS[name]: name for name in messages.API_KEYS} == messages.API_NAMES


def test_codecs_exist_for_every_valid_version() -> None:
    finders = (
        messages.request_decoder,
        messages.response_encoder,
        messages.request_encoder,
        messages.response_decoder,
    )
    for key, (first, last) in messages.VALID_VERSIONS.items():
        for version in range(first, last + 1):
            assert all(callable(find(key, version)) for find in finders)


def test_finders_give_the_generated_functions() -> None:
    assert messages.request_decoder(0, 9) is produce.decode_request_v9
    assert messages.response_encoder(0, 13) is produce.encode_response_v13


@pytest.mark.parametrize(
    ("api_key", "version"), [(0, 2), (0, 14), (4, 0), (-1, 0), (18, 5), (1000, 0)]
)
def test_unknown_key_or_version_is_unsupported(api_key: int, version: int) -> None:
    for find in (
        messages.request_decoder,
        messages.response_encoder,
        messages.request_encoder,
        messages.response_decoder,
    ):
        with pytest.raises(UnsupportedMessage):
            find(api_key, version)


def test_unstable_versions_have_codecs_but_are_marked() -> None:
    assert messages.VALID_VERSIONS[22][1] == 6
    assert (22, 6) in messages.UNSTABLE_VERSIONS


def test_generated_modules_are_imported_when_first_needed() -> None:
    listing = subprocess.run(
        [sys.executable, "-c", LISTING], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    assert listing[0] == "headrace.codecs.kafka.generated.index"
    assert listing[1] == "headrace.codecs.kafka.generated.produce"
