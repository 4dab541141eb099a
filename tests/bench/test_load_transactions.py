"""The light transactional client of the bench: its frames, and against a real broker."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time

import pytest

from bench.load.transaction_frames import GENERATIONS, Contents, TransactionFrames
from bench.load.transactions import (
    PAUSES_SECONDS,
    RETRY_BEGIN_AFTER_SECONDS,
    Refused,
    TransactionLoad,
    best_pause,
    light_transactions,
    run_transactions,
)
from headrace.codecs.kafka import messages
from headrace.codecs.kafka.generated.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from headrace.codecs.kafka.generated.end_txn import EndTxnResponse
from headrace.codecs.kafka.generated.find_coordinator import Coordinator, FindCoordinatorResponse
from headrace.codecs.kafka.generated.init_producer_id import InitProducerIdResponse
from headrace.codecs.kafka.generated.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from headrace.records.decode import decode_records
from headrace.records.header import crc_is_valid, read_header
from headrace.testing import Broker
from tests.bench.test_transaction_loads import count_of

LOAD = {
    **{"partitions": 2, "producers": 3, "records": 4, "size": 10},
    **{"warm_seconds": 0.1, "seconds": 0.4},
}


@pytest.fixture(scope="module")
def broker():
    with Broker() as running:
        yield running


@pytest.mark.parametrize("generation", [1, 2])
def test_transactions_are_committed_whole(broker, generation):
    topic = broker.create_topic(f"light-{generation}", partitions=1)
    figures = light_transactions(
        broker.bootstrap_servers,
        os.getpid(),
        **{**LOAD, "partitions": 1},
        topic=topic,
        label=topic,
        generation=generation,
    )
    assert figures["rate"] > 0
    assert 0 < figures["p50"] <= figures["p99"]
    assert figures["retries"] == 0
    committed = count_of(broker, topic, "read_committed")
    assert committed == count_of(broker, topic, "read_uncommitted")
    assert committed % 4 == 0
    assert committed >= figures["rate"] * 0.4 * 4


def test_a_paced_load_commits_too(broker):
    topic = broker.create_topic("paced", partitions=1)
    load = {**LOAD, "producers": 1, "partitions": 1, "warm_seconds": 0.5}
    figures = light_transactions(
        broker.bootstrap_servers, **load, topic=topic, label=topic, generation=2, is_paced=True
    )
    assert figures["rate"] > 0
    assert figures["pause"] in [pause_s * 1_000 for pause_s in PAUSES_SECONDS]


def test_the_pause_that_commits_the_most_is_kept_and_the_shorter_one_if_it_is_as_good():
    assert best_pause([100, 105, 90, 50]) == PAUSES_SECONDS[0]
    assert best_pause([20, 100, 105, 90]) == PAUSES_SECONDS[1]
    assert best_pause([20, 30, 100, 60]) == PAUSES_SECONDS[2]
    assert best_pause([0, 0, 0, 0]) == 0.0


def test_an_error_that_no_client_tries_again_ends_the_load(broker):
    broker.create_topic("narrow", partitions=1)
    huge = {**LOAD, "size": 2_000_000, "records": 1, "partitions": 1}
    load = TransactionLoad(**huge, topic="narrow", label="huge", generation=2)
    with pytest.raises(Refused, match="error 10"):
        run_transactions(broker.bootstrap_servers, load, None)


def test_the_number_of_producers_is_limited():
    load = TransactionLoad(**{**LOAD, "producers": 1_001}, topic="t", label="l", generation=2)
    with pytest.raises(ValueError, match="at most 1000"):
        run_transactions("127.0.0.1:1", load, None)


@pytest.mark.parametrize("generation", [1, 2])
def test_a_produce_frame_carries_a_whole_batch_of_the_producer(generation):
    contents = Contents("topic", 3, b"value", 2)
    frames = TransactionFrames("id", contents, GENERATIONS[generation], now_ms=5)
    for epoch, sequence in ((0, 0), (7, 2)):
        frame = frames.produce(42, epoch, sequence)
        version = GENERATIONS[generation].produce_version
        assert struct.unpack_from(">ihh", frame) == (len(frame) - 4, 0, version)
        start = frame.index(struct.pack(">qhi", 42, epoch, sequence)) - 43
        header = read_header(frame, start)
        batch = frame[start : start + header.size_bytes]
        assert crc_is_valid(batch, 0, len(batch))
        assert header.is_transactional
        assert [record.value for record in decode_records(batch)] == [b"value", b"value"]


def test_a_transaction_that_comes_too_early_waits_as_kafkas_client_does():
    with ScriptedBroker(add_partitions_codes=[51, 0]) as scripted:
        one = {**LOAD, "producers": 1, "partitions": 1, "warm_seconds": 0.0}
        load = TransactionLoad(**one, topic="t", label="early", generation=1)
        with pytest.raises(Refused, match="error 48"):
            run_transactions(scripted.address, load, None)
    assert scripted.asked == [10, 22, 24, 24, 0, 26]
    # The loop's clock counts whole milliseconds.
    assert scripted.seconds_between_adds > RETRY_BEGIN_AFTER_SECONDS - 0.002


class ScriptedBroker:
    """Answers one connection: AddPartitionsToTxn as told, and INVALID_TXN_STATE to each EndTxn."""

    def __init__(self, add_partitions_codes):
        self.asked = []
        self.seconds_between_adds = 0.0
        self._codes = list(add_partitions_codes)
        self._added_s = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(30.0)
        self._thread = threading.Thread(target=self._serve)

    @property
    def address(self):
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._thread.join(30.0)
        self._listener.close()

    def _serve(self):
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as requests:
            connection.settimeout(30.0)
            while size := requests.read(4):
                body = requests.read(*struct.unpack(">i", size))
                key, version = struct.unpack_from(">hh", body)
                self.asked.append(key)
                connection.sendall(self._answer(key, version))

    def _answer(self, key, version):
        chunks = []
        messages.response_encoder(key, version)(self._response(key), chunks)
        data = b"\0\0\0\0" + b"".join(bytes(chunk) for chunk in chunks)
        if messages.response_header_is_flexible(key, version):
            data = data[:4] + b"\0" + data[4:]
        return struct.pack(">i", len(data)) + data

    def _response(self, key):
        if key == 24:
            self._note_add()
            result = AddPartitionsToTxnPartitionResult(0, self._codes.pop(0))
            topic = AddPartitionsToTxnTopicResult("t", [result])
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=[topic])
        return {
            10: FindCoordinatorResponse(coordinators=[Coordinator("early-0")]),
            22: InitProducerIdResponse(producer_id=5, producer_epoch=0),
            0: ProduceResponse(
                [TopicProduceResponse("t", partition_responses=[PartitionProduceResponse(0)])]
            ),
            26: EndTxnResponse(error_code=48),
        }[key]

    def _note_add(self):
        self._added_s.append(time.monotonic())
        self.seconds_between_adds = self._added_s[-1] - self._added_s[0]
