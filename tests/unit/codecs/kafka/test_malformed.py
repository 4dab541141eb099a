"""Hostile bytes: every decoder either understands them or raises MalformedMessage, cheaply."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import pytest

from headrace.codecs.kafka import messages
from headrace.codecs.kafka.errors import MalformedMessage

from .kio_values import KioValues, kio_bytes, kio_entity

TRUNCATED_SIZE_MAX = 800
SAMPLES = 3
MUTATIONS_PER_VERSION = 60
BYTES_PER_INPUT_BYTE_MAX = 200
FIXED_COST_MAX = 64 * 1024
HOSTILE_RUNS = (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80", b"\x7f")
EVERY_VERSION = [
    (key, version)
    for key, (first, last) in messages.VALID_VERSIONS.items()
    for version in range(first, last + 1)
]


def sample(api_key: int, version: int, direction: str) -> bytes:
    """A valid body that has something in most optional places; the smallest of a few."""
    entity = kio_entity(api_key, version, direction)
    seeds = (f"{api_key} {version} {number}" for number in range(SAMPLES))
    return min((kio_bytes(KioValues(seed, 0.9).entity(entity)) for seed in seeds), key=goodness)


def goodness(data: bytes) -> tuple[bool, int]:
    """Prefers the largest of the small bodies, else the smallest of all."""
    is_large = len(data) > TRUNCATED_SIZE_MAX
    return is_large, len(data) if is_large else -len(data)


def decoder(api_key: int, version: int, direction: str) -> Any:
    if direction == "request":
        return messages.request_decoder(api_key, version)
    return messages.response_decoder(api_key, version)


def mutated(chance: random.Random, data: bytes) -> bytes:
    """The data with a few bytes changed, a hostile length put in, or a piece cut out."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        position = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                changed[position : position + 1] = chance.randbytes(1)
            case 1:
                run = chance.choice(HOSTILE_RUNS)
                changed[position : position + len(run)] = run
            case 2:
                changed[position:position] = chance.randbytes(chance.randint(1, 4))
            case _:
                del changed[position : position + chance.randint(1, 4)]
    return bytes(changed)


def decodes(decode: Any, data: bytes) -> bool:
    try:
        _, position = decode(data, 0)
    except MalformedMessage:
        return False
    assert position <= len(data)
    return True


@pytest.mark.parametrize("direction", ["request", "response"])
@pytest.mark.parametrize("api_key", messages.API_NAMES, ids=messages.API_NAMES.get)
def test_every_truncation_is_refused(api_key: int, direction: str) -> None:
    first, last = messages.VALID_VERSIONS[api_key]
    for version in {first, (first + last) // 2, last}:
        data = sample(api_key, version, direction)
        decode = decoder(api_key, version, direction)
        for size in range(len(data)):
            assert not decodes(decode, data[:size]), f"v{version} cut at {size}"
        assert decodes(decode, data)


@pytest.mark.parametrize("direction", ["request", "response"])
def test_mutations_raise_nothing_but_malformed_message(direction: str) -> None:
    chance = random.Random(f"mutations {direction}")
    refused = 0
    for api_key, version in EVERY_VERSION:
        decode = decoder(api_key, version, direction)
        data = sample(api_key, version, direction)
        for _ in range(MUTATIONS_PER_VERSION):
            refused += not decodes(decode, mutated(chance, data))
    assert refused > len(EVERY_VERSION)


def test_random_bytes_raise_nothing_but_malformed_message() -> None:
    chance = random.Random("random bytes")
    refused = 0
    for api_key, version in EVERY_VERSION:
        decode = decoder(api_key, version, "request")
        for size in (0, 1, 7, 40, 200):
            refused += not decodes(decode, chance.randbytes(size))
    assert refused > len(EVERY_VERSION)


@pytest.mark.parametrize("api_key", messages.API_NAMES, ids=messages.API_NAMES.get)
def test_hostile_lengths_allocate_in_proportion_to_the_input(api_key: int) -> None:
    chance = random.Random(f"allocation {api_key}")
    _, version = messages.VALID_VERSIONS[api_key]
    decode = decoder(api_key, version, "request")
    data = sample(api_key, version, "request")
    limit = FIXED_COST_MAX + BYTES_PER_INPUT_BYTE_MAX * len(data)
    tracemalloc.start()
    try:
        for _ in range(40):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            decodes(decode, mutated(chance, data))
            _, peak = tracemalloc.get_traced_memory()
            assert peak - before < limit
    finally:
        tracemalloc.stop()


def test_unknown_tagged_fields_are_skipped() -> None:
    # Heartbeat v4: group_id, generation_id, member_id, group_instance_id, then tagged fields.
    body = (
        b"\x02g" + b"\x00\x00\x00\x07" + b"\x02m" + b"\x00" + b"\x02" + b"\x05\x01x" + b"\x09\x00"
    )
    request, position = messages.request_decoder(12, 4)(body, 0)
    assert (request.group_id, request.generation_id, request.member_id) == ("g", 7, "m")
    assert position == len(body)


def test_null_is_refused_where_the_schema_has_no_null() -> None:
    with pytest.raises(MalformedMessage, match="group_id must not be null"):
        messages.request_decoder(12, 4)(b"\x00" + bytes(20), 0)
    with pytest.raises(MalformedMessage, match="group_id must not be null"):
        messages.request_decoder(12, 0)(b"\xff\xff" + bytes(20), 0)


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        messages.request_decoder(12, 4)(b"\x02\xff" + bytes(20), 0)


def test_tagged_field_with_the_wrong_size_is_refused() -> None:
    # Fetch v12 ends with its tagged fields; tag 0 is the cluster id, a nullable string.
    plain = kio_bytes(KioValues("fetch", 0.0).entity(kio_entity(1, 12, "request")))
    assert plain.endswith(b"\x00")
    good = plain[:-1] + b"\x01\x00\x02\x02c"
    bad = plain[:-1] + b"\x01\x00\x03\x02cc"
    assert messages.request_decoder(1, 12)(good, 0)[0].cluster_id == "c"
    with pytest.raises(MalformedMessage, match="wrong size"):
        messages.request_decoder(1, 12)(bad, 0)
