"""Our files are Kafka's: its dump tool reads them, it serves them, and we start over its own."""

from __future__ import annotations

import re
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from .conftest import ADMIN_CLIENT, ClientPool
from .kafka_tools import RealKafka, dump_log_segments, tools_missing
from .scenarios.declare import read, values
from .scenarios.records import KEEP_FOREVER, corpus
from .successors import broker_under_test, cluster_id, successor_of, topic_logs
from .values import CODECS, ConsumerSettings, Received, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .driver import Client
    from .successors import FileBroker

pytestmark = [pytest.mark.interop, pytest.mark.maven]

TOPIC = "records-of-every-codec"
ROLLED = "rolled"
SEGMENT_BYTES = 1_048_576
ROLLED_RECORDS = 600
PARTITION_RECORDS = len(CODECS) * len(corpus(True))
RECORD_COUNT = 2 * PARTITION_RECORDS
GROUP_OFFSETS = {"classic": {0: 3, 1: 4}, "consumer": {0: 5, 1: 2}}
REPLACED_PATTERNS = ("*.log", "*.index", "*.timeindex", "*.txnindex", "*.snapshot")
RESUME_TIMEOUT_S = 30.0


@pytest.fixture(autouse=True)
def _needs_maven() -> None:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)


@contextmanager
def _client_of(broker: FileBroker, directory: Path) -> Iterator[Client]:
    broker.start()
    logs = directory / "drivers"
    logs.mkdir(exist_ok=True)
    pool = ClientPool(broker.bootstrap_servers, logs)
    try:
        yield pool.get(ADMIN_CLIENT)
    finally:
        pool.stop()
        broker.stop()


def _fill(client: Client) -> None:
    """Two partitions with every codec, by plain and idempotent producers."""
    client.create_topic(TOPIC, partitions=2, configs=KEEP_FOREVER)
    for number, codec in enumerate(CODECS):
        for partition in (0, 1):
            records = [
                Record(item.value, item.key, item.headers, item.timestamp_ms, partition)
                for item in corpus(with_timestamps=True)
            ]
            client.produce(TOPIC, records, codec, idempotent=number % 2 == 0)


def _fill_segments(client: Client) -> None:
    """Enough for several segments, with index entries in each."""
    client.create_topic(ROLLED, configs={"segment.bytes": str(SEGMENT_BYTES)})
    value = bytes(range(256)) * 16
    for _ in range(3):
        client.produce(ROLLED, [Record(value)] * (ROLLED_RECORDS // 3), idempotent=True)


def _commit_groups(client: Client) -> None:
    for protocol, offsets in GROUP_OFFSETS.items():
        consumer = client.open_consumer(
            ConsumerSettings(f"{protocol}-group", (TOPIC,), protocol=protocol)
        )
        read(consumer, RECORD_COUNT, RESUME_TIMEOUT_S)
        consumer.commit({(TOPIC, partition): offset for partition, offset in offsets.items()})
        consumer.close()


def _read_partition(client: Client, topic: str, partition: int, count: int) -> list[Received]:
    consumer = client.open_consumer(ConsumerSettings(assign=((topic, partition),)))
    found = read(consumer, count)
    consumer.close()
    return found


def _assert_records_are_there(client: Client) -> None:
    expected = [(r.key, r.value, r.headers, r.timestamp_ms) for r in corpus(True)] * len(CODECS)
    for partition in (0, 1):
        found = _read_partition(client, TOPIC, partition, len(expected))
        assert [item.offset for item in found] == list(range(len(expected)))
        got = [item.record for item in found]
        assert [(r.key, r.value, r.headers, r.timestamp_ms) for r in got] == expected


def _assert_groups_go_on(client: Client) -> None:
    for protocol, offsets in GROUP_OFFSETS.items():
        group = f"{protocol}-group"
        committed = {(TOPIC, partition): offset for partition, offset in offsets.items()}
        assert client.group_offsets(group) == committed
        consumer = client.open_consumer(ConsumerSettings(group, (TOPIC,), protocol=protocol))
        left = RECORD_COUNT - sum(offsets.values())
        found = read(consumer, left, RESUME_TIMEOUT_S)
        first = {
            partition: min(item.offset for item in found if item.record.partition == partition)
            for partition in offsets
        }
        assert first == offsets
        assert len(found) == left
        consumer.close()


@pytest.fixture(scope="module")
def written_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of a broker that was filled and stopped cleanly."""
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)
    directory = tmp_path_factory.mktemp("written")
    broker = broker_under_test(directory)
    with _client_of(broker, directory) as client:
        _fill(client)
        _fill_segments(client)
        _commit_groups(client)
    return broker.data_directory


def test_dump_reads_segments_without_fault(written_files: Path) -> None:
    dump = dump_log_segments(
        topic_logs(written_files, ".log"), "--deep-iteration", "--print-data-log"
    )
    assert dump.faults == []
    expected = RECORD_COUNT + ROLLED_RECORDS
    assert len(dump.record_lines) == expected
    codecs = {re.sub(r".*compresscodec: (\w+).*", r"\1", line) for line in dump.batch_lines}
    assert codecs == set(CODECS)


def test_dump_reads_indexes_without_fault(written_files: Path) -> None:
    assert len(topic_logs(written_files, ".log")) >= 2 + 3, "the topic did not roll"
    for suffix in (".index", ".timeindex"):
        files = topic_logs(written_files, suffix)
        dump = dump_log_segments(files, "--deep-iteration")
        assert dump.faults == []
        assert re.search(r"^offset: \d+|^timestamp: \d+", dump.text, re.MULTILINE)
        sanity = dump_log_segments(files, "--index-sanity-check").text
        passed, empty = sanity.count("passed sanity check"), sanity.count("is empty")
        assert passed >= 1
        assert passed + empty == len(files)


def test_dump_reads_producer_snapshots_without_fault(written_files: Path) -> None:
    files = topic_logs(written_files, ".snapshot")
    assert files, "an idempotent producer leaves a snapshot at a roll and at a clean stop"
    dump = dump_log_segments(files, "--deep-iteration")
    assert dump.faults == []
    assert "producerId:" in dump.text


def test_dump_decodes_consumer_offsets(written_files: Path) -> None:
    files = topic_logs(written_files, ".log", internal=True)
    dump = dump_log_segments(files, "--deep-iteration", "--offsets-decoder")
    assert dump.faults == []
    for protocol in GROUP_OFFSETS:
        assert f'"group":"{protocol}-group"' in dump.text
    for offset in GROUP_OFFSETS["classic"].values():
        assert f'"offset":{offset},' in dump.text


def test_directory_of_kafka_is_taken_over(tmp_path: Path) -> None:
    kafka = RealKafka(tmp_path / "kafka")
    kafka.format()
    with _client_of(kafka, tmp_path) as client:
        _fill(client)
        _commit_groups(client)
    successor = successor_of(kafka, tmp_path / "successor")
    with _client_of(successor, tmp_path) as client:
        assert client.partition_count(TOPIC) == 2
        assert client.describe_configs(TOPIC)["retention.ms"] == "-1"
        _assert_records_are_there(client)
        _assert_groups_go_on(client)
        assert client.produce(TOPIC, [Record(b"after")]) == [PARTITION_RECORDS]


def test_kafka_serves_records_that_we_wrote(written_files: Path, tmp_path: Path) -> None:
    """Kafka keeps topics in its own metadata log, so it creates them; the files are ours.

    Its empty partition directories get our segments, indexes and snapshots while it is stopped.
    Only `partition.metadata` stays Kafka's, as it holds the topic id that Kafka chose.
    """
    kafka = RealKafka(tmp_path / "kafka")
    kafka.format(cluster_id(written_files))
    with _client_of(kafka, tmp_path) as client:
        client.create_topic(TOPIC, partitions=2, configs=KEEP_FOREVER)
        client.create_topic(ROLLED, configs={"segment.bytes": str(SEGMENT_BYTES)})
    for name in (f"{TOPIC}-0", f"{TOPIC}-1", f"{ROLLED}-0"):
        _replace_files(written_files / name, kafka.data_directory / name)
    with _client_of(kafka, tmp_path) as client:
        _assert_records_are_there(client)
        rolled = _read_partition(client, ROLLED, 0, ROLLED_RECORDS)
        assert [item.offset for item in rolled] == list(range(ROLLED_RECORDS))
        assert set(values(rolled)) == {bytes(range(256)) * 16}
        assert client.produce(TOPIC, [Record(b"after")]) == [PARTITION_RECORDS]


def _replace_files(source: Path, target: Path) -> None:
    for pattern in (*REPLACED_PATTERNS, "leader-epoch-checkpoint"):
        for old in target.glob(pattern):
            old.unlink()
        for new in source.glob(pattern):
            shutil.copy(new, target)
