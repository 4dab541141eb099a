"""A broker that does nothing: it has one topic, takes what it is sent and answers from a tin.

It serves one kind of client, a transactional producer of the second generation that writes to one
partition and commits. The first request of a kind on a connection is read and its answer built;
from then on only the correlation id changes. What a client does here is what the client can do.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import uvloop

from bench.load.frames import whole_frame_bytes
from headrace.codecs.kafka.generated.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from headrace.codecs.kafka.generated.end_txn import EndTxnResponse
from headrace.codecs.kafka.generated.find_coordinator import Coordinator, FindCoordinatorResponse
from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdResponse
from headrace.codecs.kafka.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headrace.codecs.kafka.generated.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.codecs.kafka.headers import decode_request_header, encode_response_frame
from headrace.codecs.kafka.messages import (
    request_decoder,
    response_encoder,
    response_header_is_flexible,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PRODUCE, METADATA, FIND_COORDINATOR, API_VERSIONS, INIT_PRODUCER_ID, END = 0, 3, 10, 18, 22, 26
SERVED = (
    ApiVersion(PRODUCE, 3, 12),  # later ones have ids instead of names
    ApiVersion(METADATA, 0, 12),
    ApiVersion(FIND_COORDINATOR, 4, 4),
    ApiVersion(API_VERSIONS, 0, 4),
    ApiVersion(INIT_PRODUCER_ID, 4, 4),
    ApiVersion(END, 5, 5),
)
SAME_AGAIN = frozenset({PRODUCE, END})
"""The answers that a connection is given over and over."""
FEATURE, FEATURE_LEVEL = "transaction.version", 2
HOST, NODE = "127.0.0.1", 1
START_SECONDS_MAX = 10.0
_START = struct.Struct(">ihhi")


class CannedBroker:
    """What all connections know."""

    def __init__(self, topic: str, partitions: int) -> None:
        self.port = 0
        self._topic = topic
        self._partitions = partitions
        self._producer_ids = itertools.count(1)
        self._builders: dict[int, Callable[[Any], Any]] = {
            PRODUCE: _produced,
            METADATA: self._metadata,
            FIND_COORDINATOR: self._coordinators,
            API_VERSIONS: _versions,
            INIT_PRODUCER_ID: self._identity,
            END: _ended,
        }

    def body(self, frame: bytes) -> bytes:
        """The answer to a request, without size and header. KeyError: nobody told it this."""
        api_key, version, _, _, position = decode_request_header(frame, 4)
        request, _ = request_decoder(api_key, version)(frame, position)
        chunks: list[Any] = []
        response_encoder(api_key, version)(self._builders[api_key](request), chunks)
        return b"".join(chunks)

    def _metadata(self, request: Any) -> MetadataResponse:
        partitions = [
            MetadataResponsePartition(0, index, NODE, 0, [NODE], [NODE])
            for index in range(self._partitions)
        ]
        return MetadataResponse(
            brokers=[MetadataResponseBroker(NODE, HOST, self.port)],
            cluster_id="canned",
            controller_id=NODE,
            topics=[MetadataResponseTopic(0, self._topic, b"canned-topic-id!", False, partitions)],
        )

    def _coordinators(self, request: Any) -> FindCoordinatorResponse:
        found = [Coordinator(key, NODE, HOST, self.port) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)

    def _identity(self, request: Any) -> InitProducerIdResponse:
        return InitProducerIdResponse(producer_id=next(self._producer_ids), producer_epoch=0)


def _versions(request: Any) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=SERVED,
        supported_features=[SupportedFeatureKey(FEATURE, 0, FEATURE_LEVEL)],
        finalized_features_epoch=1,
        finalized_features=[FinalizedFeatureKey(FEATURE, FEATURE_LEVEL, FEATURE_LEVEL)],
    )


def _produced(request: Any) -> ProduceResponse:
    return ProduceResponse(
        [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [PartitionProduceResponse(data.index) for data in topic.partition_data],
            )
            for topic in request.topic_data
        ]
    )


def _ended(request: Any) -> EndTxnResponse:
    """The epoch stays as it is: nobody here would notice that it did not move on."""
    return EndTxnResponse(producer_id=request.producer_id, producer_epoch=request.producer_epoch)


class _Connection(asyncio.Protocol):
    def __init__(self, broker: CannedBroker) -> None:
        self._broker = broker
        self._received = bytearray()
        self._tins: dict[tuple[int, int], bytes] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own, which is no subclass

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        while size := whole_frame_bytes(received):
            _, api_key, version, correlation_id = _START.unpack_from(received)
            body = self._tins.get((api_key, version))
            if body is None:
                body = self._broker.body(bytes(received[:size]))
                if api_key in SAME_AGAIN:
                    self._tins[api_key, version] = body
            del received[:size]
            is_flexible = response_header_is_flexible(api_key, version)
            head = encode_response_frame(correlation_id, is_flexible, len(body))
            self._transport.write(head + body)


@contextmanager
def canned_broker(topic: str, partitions: int) -> Iterator[str]:
    """Its address; it runs in a thread of this process."""
    broker = CannedBroker(topic, partitions)
    is_ready = threading.Event()
    loop = uvloop.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        made = await loop.create_server(partial(_Connection, broker), HOST, 0)
        server = cast("asyncio.Server", made)  # uvloop's own, which is no subclass
        broker.port = server.sockets[0].getsockname()[1]
        is_ready.set()
        await stop.wait()
        server.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    if not is_ready.wait(START_SECONDS_MAX):
        raise TimeoutError("the canned broker does not listen")
    try:
        yield f"{HOST}:{broker.port}"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(START_SECONDS_MAX)
        loop.close()
