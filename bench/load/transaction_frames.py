"""Requests of a transactional producer, encoded once; what changes is put in at its known place.

With each transaction only the producer's epoch and its sequence move on, so a frame is copied,
stamped and, where it holds a batch, given a new checksum. Both generations of the protocol are
here: in version 1 a client adds its partitions itself, in version 2 the broker does that with the
first record, and every end brings a new epoch (KIP-890).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.load.frames import (
    ACKS_ALL,
    PRODUCE,
    REQUEST_TIMEOUT_MS,
    decode_answer,
    request_frame,
)
from headrace.codecs.kafka.generated.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from headrace.codecs.kafka.generated.end_txn import EndTxnRequest
from headrace.codecs.kafka.generated.find_coordinator import FindCoordinatorRequest
from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdRequest
from headrace.codecs.kafka.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from headrace.records.build import build_batch
from headrace.records.header import stamp_crc

FIND_COORDINATOR, INIT_PRODUCER_ID, ADD_PARTITIONS, END = 10, 22, 24, 26
FIND_COORDINATOR_VERSION = 4
INIT_PRODUCER_ID_VERSION = 4
ADD_PARTITIONS_VERSION = 3
"""The last one for clients."""
COORDINATOR_OF_TRANSACTIONS = 1
TRANSACTION_TIMEOUT_MS = 60_000
PRODUCER_POSITION = 43
"""In a batch: producer id, epoch and first sequence lie side by side."""

_ID_MARK = 0x1122334455667788
_EPOCH_MARK = 0x5AA5
_identity = struct.Struct(">qh")
_identity_and_sequence = struct.Struct(">qhi")


class Generation(NamedTuple):
    """What a client of one version of the protocol sends."""

    produce_version: int
    end_version: int
    adds_partitions: bool


GENERATIONS = {1: Generation(11, 4, True), 2: Generation(12, 5, False)}


@dataclass(frozen=True)
class Contents:
    """What each transaction of a producer writes, and where to."""

    topic: str
    partition: int
    value: bytes
    records: int


class _Stamped:
    """A frame in which the producer's id and epoch change."""

    def __init__(self, api_key: int, version: int, request: Any) -> None:
        self._frame = bytearray(request_frame(api_key, version, request))
        self._position = self._frame.index(_identity.pack(_ID_MARK, _EPOCH_MARK))

    def of(self, producer_id: int, epoch: int) -> bytes:
        _identity.pack_into(self._frame, self._position, producer_id, epoch)
        return bytes(self._frame)


class TransactionFrames:
    """All requests of one transactional id."""

    def __init__(
        self, transactional_id: str, contents: Contents, generation: Generation, now_ms: int
    ) -> None:
        self.records = contents.records
        self.find_coordinator = request_frame(
            FIND_COORDINATOR,
            FIND_COORDINATOR_VERSION,
            FindCoordinatorRequest(
                key_type=COORDINATOR_OF_TRANSACTIONS, coordinator_keys=[transactional_id]
            ),
        )
        self.init_producer_id = request_frame(
            INIT_PRODUCER_ID,
            INIT_PRODUCER_ID_VERSION,
            InitProducerIdRequest(transactional_id, TRANSACTION_TIMEOUT_MS),
        )
        topics = [AddPartitionsToTxnTopic(contents.topic, [contents.partition])]
        self.add_partitions = _Stamped(
            ADD_PARTITIONS,
            ADD_PARTITIONS_VERSION,
            AddPartitionsToTxnRequest(transactional_id, _ID_MARK, _EPOCH_MARK, topics),
        )
        self.commit = _Stamped(
            END,
            generation.end_version,
            EndTxnRequest(transactional_id, _ID_MARK, _EPOCH_MARK, committed=True),
        )
        self._end_version = generation.end_version
        self._produce_version = generation.produce_version
        self._make_produce(transactional_id, contents, now_ms)

    def produce(self, producer_id: int, epoch: int, sequence: int) -> bytes:
        """The request with the batch that starts at this sequence."""
        frame, batch = self._produce, self._batch_position
        _identity_and_sequence.pack_into(
            frame, batch + PRODUCER_POSITION, producer_id, epoch, sequence
        )
        stamp_crc(frame, batch, self._batch_bytes)
        return bytes(frame)

    # --- answers --------------------------------------------------------------------------------

    def coordinator_error(self, answer: bytes) -> int:
        (coordinator,) = decode_answer(
            FIND_COORDINATOR, FIND_COORDINATOR_VERSION, answer
        ).coordinators
        code: int = coordinator.error_code
        return code

    def identity(self, answer: bytes) -> tuple[int, int, int]:
        """Of an InitProducerId: error code, producer id, epoch."""
        response = decode_answer(INIT_PRODUCER_ID, INIT_PRODUCER_ID_VERSION, answer)
        return response.error_code, response.producer_id, response.producer_epoch

    def add_partitions_error(self, answer: bytes) -> int:
        response = decode_answer(ADD_PARTITIONS, ADD_PARTITIONS_VERSION, answer)
        ((result,),) = (
            topic.results_by_partition for topic in response.results_by_topic_v3_and_below
        )
        code: int = result.partition_error_code
        return code

    def produce_error(self, answer: bytes) -> int:
        response = decode_answer(PRODUCE, self._produce_version, answer)
        ((result,),) = (topic.partition_responses for topic in response.responses)
        code: int = result.error_code
        return code

    def end_identity(self, answer: bytes) -> tuple[int, int, int]:
        """Of an EndTxn: error code, producer id, epoch; -1 for both if they stay."""
        response = decode_answer(END, self._end_version, answer)
        return response.error_code, response.producer_id, response.producer_epoch

    def _make_produce(self, transactional_id: str, contents: Contents, now_ms: int) -> None:
        batch = bytes(
            build_batch(
                [(None, contents.value)] * contents.records,
                timestamp_ms=now_ms,
                producer_id=_ID_MARK,
                producer_epoch=_EPOCH_MARK,
                base_sequence=0,
                transactional=True,
            )
        )
        data = PartitionProduceData(index=contents.partition, records=batch)
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=ACKS_ALL,
            timeout_ms=REQUEST_TIMEOUT_MS,
            topic_data=[TopicProduceData(name=contents.topic, partition_data=[data])],
        )
        self._produce = bytearray(request_frame(PRODUCE, self._produce_version, request))
        self._batch_position = self._produce.index(batch)
        self._batch_bytes = len(batch)
