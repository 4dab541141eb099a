"""Every message in every version, both directions, byte for byte against the `kio` package."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from kio.schema.consumer_protocol_assignment import v3 as assignment_v3
from kio.schema.consumer_protocol_subscription import v3 as subscription_v3

from headrace.codecs.kafka import messages

from .kio_values import KioValues, kio_bytes, kio_entity, kio_message, ours

if TYPE_CHECKING:
    from types import ModuleType

GENERATED = "headrace.codecs.kafka.generated"
ABUNDANCES = (0.0, 0.5, 0.7, 1.0)
SAMPLES_PER_ABUNDANCE = {0.0: 1, 0.5: 2, 0.7: 2, 1.0: 2}
SEEDS = [
    (abundance, number)
    for abundance in ABUNDANCES
    for number in range(SAMPLES_PER_ABUNDANCE[abundance])
]
FEW_SEEDS = [(0.0, 0), (0.7, 0), (1.0, 0)]
MORE_SEEDS = [seed for seed in SEEDS if seed not in FEW_SEEDS]


def joined(chunks: list[Any]) -> bytes:
    return b"".join(bytes(chunk) for chunk in chunks)


def check_message(
    kio_original: Any, module: ModuleType, direction: str, encode: Any, decode: Any
) -> None:
    expected = kio_bytes(kio_original)
    ours_original = ours(kio_original, module, direction)
    chunks: list[Any] = []
    encode(ours_original, chunks)
    encoded = joined(chunks)
    assert encoded == expected
    assert sum(len(chunk) for chunk in chunks) == len(expected)
    assert kio_message(type(kio_original), encoded) == kio_original
    # A prefix stands for the header in front of the body; the position must be honoured.
    decoded, position = decode(b"\xff\xff\xff" + expected, 3)
    assert position == len(expected) + 3
    assert decoded == ours_original


@pytest.mark.parametrize(
    "seeds",
    [FEW_SEEDS, pytest.param(MORE_SEEDS, marks=pytest.mark.slow)],
    ids=["few", "more"],
)
@pytest.mark.parametrize("direction", ["request", "response"])
@pytest.mark.parametrize("api_key", messages.API_NAMES, ids=messages.API_NAMES.get)
def test_message_matches_oracle_in_every_version(
    api_key: int, direction: str, seeds: list[tuple[float, int]]
) -> None:
    module = import_module(f"{GENERATED}.{messages.API_NAMES[api_key]}")
    first, last = messages.VALID_VERSIONS[api_key]
    for version in range(first, last + 1):
        if direction == "request":
            encode = messages.request_encoder(api_key, version)
            decode = messages.request_decoder(api_key, version)
        else:
            encode = messages.response_encoder(api_key, version)
            decode = messages.response_decoder(api_key, version)
        entity = kio_entity(api_key, version, direction)
        for abundance, number in seeds:
            values = KioValues(f"{api_key} {version} {direction} {number}", abundance)
            check_message(values.entity(entity), module, direction, encode, decode)


@pytest.mark.parametrize(
    ("name", "newest"),
    [
        ("consumer_protocol_assignment", assignment_v3.ConsumerProtocolAssignment),
        ("consumer_protocol_subscription", subscription_v3.ConsumerProtocolSubscription),
    ],
)
def test_stored_message_matches_oracle_in_every_version(name: str, newest: type) -> None:
    module = import_module(f"{GENERATED}.{name}")
    assert list(module.DECODE) == list(module.ENCODE) == [0, 1, 2, 3]
    for version in module.DECODE:
        entity = getattr(import_module(f"kio.schema.{name}.v{version}"), newest.__name__)
        for abundance, number in SEEDS:
            values = KioValues(f"{name} {version} {number}", abundance)
            encode, decode = module.ENCODE[version], module.DECODE[version]
            check_message(values.entity(entity), module, "data", encode, decode)


def test_layouts_that_did_not_change_share_one_function() -> None:
    module = import_module(f"{GENERATED}.produce")
    assert module.DECODE_REQUEST[3] is module.DECODE_REQUEST[8]
    assert module.DECODE_REQUEST[9] is module.DECODE_REQUEST[12]
    assert module.DECODE_REQUEST[12] is not module.DECODE_REQUEST[13]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_decoders_take_every_kind_of_buffer(kind: Any) -> None:
    produce = import_module(f"{GENERATED}.produce")
    partition = produce.PartitionProduceData(index=4, records=b"r" * 200)
    topic = produce.TopicProduceData(name="orders", partition_data=[partition])
    request = produce.ProduceRequest(acks=-1, timeout_ms=1500, topic_data=[topic])
    chunks: list[Any] = []
    messages.request_encoder(0, 9)(request, chunks)
    decoded, _ = messages.request_decoder(0, 9)(kind(joined(chunks)), 0)
    assert decoded == request


def test_records_are_a_view_of_the_buffer_and_not_a_copy() -> None:
    produce = import_module(f"{GENERATED}.produce")
    partition = produce.PartitionProduceData(index=0, records=b"r" * 200)
    topic = produce.TopicProduceData(name="orders", partition_data=[partition])
    chunks: list[Any] = []
    messages.request_encoder(0, 9)(produce.ProduceRequest(topic_data=[topic]), chunks)
    buffer = bytearray(joined(chunks))
    decoded, _ = messages.request_decoder(0, 9)(buffer, 0)
    records = decoded.topic_data[0].partition_data[0].records
    buffer[buffer.index(b"rrr")] = ord("Z")
    assert isinstance(records, memoryview)
    assert bytes(records) == b"Z" + b"r" * 199


class FileSlice:
    """Stands for a piece of a segment that is sent by the kernel: it has a length, no bytes."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size


@pytest.mark.parametrize("version", range(4, 19))
def test_records_of_a_fetch_response_are_passed_on_as_they_are(version: int) -> None:
    fetch = import_module(f"{GENERATED}.fetch")
    pieces = [FileSlice(70), FileSlice(70_000)]
    partitions = [
        fetch.PartitionData(partition_index=index, aborted_transactions=None, records=piece)
        for index, piece in enumerate([pieces[0], None, b"", pieces[1]])
    ]
    topic = fetch.FetchableTopicResponse(topic="orders", partitions=partitions)
    chunks: list[Any] = []
    messages.response_encoder(1, version)(fetch.FetchResponse(responses=[topic]), chunks)
    assert [chunk for chunk in chunks if isinstance(chunk, FileSlice)] == pieces
    encoded = b"".join(bytes(len(c)) if isinstance(c, FileSlice) else c for c in chunks)
    decoded, position = messages.response_decoder(1, version)(encoded, 0)
    assert position == len(encoded) == sum(len(chunk) for chunk in chunks)
    sizes = [None if p.records is None else len(p.records) for p in decoded.responses[0].partitions]
    assert sizes == [70, None, 0, 70_000]


def test_tagged_struct_equal_to_its_default_is_not_sent() -> None:
    fetch = import_module(f"{GENERATED}.fetch")
    plain, given = fetch.PartitionData(), fetch.PartitionData()
    given.current_leader = fetch.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
    sizes = []
    for partition in (plain, given):
        topic = fetch.FetchableTopicResponse(partitions=[partition])
        chunks: list[Any] = []
        messages.response_encoder(1, 16)(fetch.FetchResponse(responses=[topic]), chunks)
        sizes.append(sum(len(chunk) for chunk in chunks))
    assert sizes[0] == sizes[1]
