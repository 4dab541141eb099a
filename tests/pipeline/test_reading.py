"""One range, read from the broker's files, from an object store and through the broker: the same
columns, whatever the topic went through."""

from __future__ import annotations

import logging
import math
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from headrace.model.errors import CorruptRecord
from headrace.model.topic import TopicPartition
from headrace.pipeline.errors import (
    BrokerUnreachable,
    DataLoss,
    StorageUnreachable,
    TopicMissing,
)
from headrace.pipeline.ranges import OffsetRange
from headrace.pipeline.reading import ReadSettings, broker_view_of, read_range, read_ranges
from headrace.records.build import assemble, build_batch
from headrace.records.columns import SCHEMA
from headrace.records.header import HEADER_SIZE, read_header
from headrace.records.record import Header, Record
from headrace.testing import Broker
from tests.wire.calls import produce as wire_produce
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS_MAX = 30.0
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SETTINGS = {
    "log.cleaner.backoff.ms": "50",
    "log.retention.ms": "-1",  # The records are of the year 2023.
    "log.segment.delete.delay.ms": "0",
}
SMALL_SEGMENTS = {"internal.segment.bytes": "12000", "file.delete.delay.ms": "0"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(SETTINGS) as broker:
        yield broker


def ways(broker: Broker) -> dict[str, ReadSettings]:
    kafka = {"bootstrap.servers": broker.bootstrap_servers}
    url = f"obstore+file://{broker.directory}"
    return {
        "auto": ReadSettings(kafka),
        "storage": ReadSettings(kafka, "storage"),
        "objects": ReadSettings(kafka, "storage", url),
        "fetch": ReadSettings(kafka, "fetch"),
    }


def end_of(broker: Broker, topic: str, *, is_committed: bool = False) -> int:
    view = broker_view_of({"bootstrap.servers": broker.bootstrap_servers})
    address = TopicPartition(topic, 0)
    return view.latest([address], is_committed)[address]


def table(wanted: OffsetRange, settings: ReadSettings) -> pa.Table:
    batches = [columns.batch for columns in read_range(wanted, settings)]
    return pa.Table.from_batches(batches, SCHEMA if not batches else None)


def same_table(broker: Broker, topic: str, start: int = 0, end: int | None = None) -> pa.Table:
    """The range read each way, by both kinds of readers; the committed one is returned."""
    for is_committed in (False, True):
        to = end_of(broker, topic, is_committed=is_committed) if end is None else end
        wanted = OffsetRange(topic, 0, start, to)
        tables = {
            way: table(wanted, settings._replace(is_committed=is_committed))
            for way, settings in ways(broker).items()
        }
        for way, found in tables.items():
            assert found.schema == SCHEMA, way
            assert found.equals(tables["fetch"]), (way, found.num_rows, is_committed)
    return tables["fetch"]


def producer(broker: Broker, **settings: object) -> Producer:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer(
        {"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 20, "log_level": 2, **given}
    )


def produce(client: Producer, topic: str, count: int, first: int = 0) -> None:
    refusals: list[object] = []
    for number in range(first, first + count):
        client.produce(
            topic,
            None if number % 7 == 3 else b"value-%d" % number * (1 + number % 5),
            key=None if number % 5 == 2 else b"key-%d" % (number % 4),
            headers=[("a", b"1"), ("b", None), ("a", b"")] if number % 3 == 1 else None,
            timestamp=1_700_000_000_000 + number,
            on_delivery=lambda error, _: error is None or refusals.append(error),
        )
    client.flush()
    assert refusals == []


def values(found: pa.Table) -> list[bytes | None]:
    return found.column("value").to_pylist()


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_and_ranges_that_begin_inside_a_batch(broker: Broker, codec: str):
    topic = broker.create_topic(f"codec-{codec}", 1, SMALL_SEGMENTS)
    client = producer(broker, compression_type=codec)
    for first in range(0, 600, 150):
        produce(client, topic, 150, first)
    assert same_table(broker, topic).num_rows == 600
    found = same_table(broker, topic, 77, 391)
    assert found.column("offset").to_pylist() == list(range(77, 391))
    assert found.column("headers").to_pylist()[:3] == [
        None,
        None,
        [{"key": "a", "value": b"1"}, {"key": "b", "value": None}, {"key": "a", "value": b""}],
    ]


def test_time_of_append(broker: Broker):
    topic = broker.create_topic("append-time", 1, {"message.timestamp.type": "LogAppendTime"})
    produce(producer(broker, compression_type="lz4"), topic, 20)
    assert set(same_table(broker, topic).column("timestamp_type").to_pylist()) == {1}


def test_transactions_committed_aborted_and_open(broker: Broker):
    topic = broker.create_topic("transactions", 1, SMALL_SEGMENTS)
    clients = [producer(broker, transactional_id=f"reading-{n}") for n in range(3)]
    for client in clients:
        client.init_transactions()
    plain = producer(broker)
    for turn in range(6):
        for client in clients[:2]:
            client.begin_transaction()
            produce(client, topic, 20, 1000 * turn)
        produce(plain, topic, 10, 5000)
        produce(clients[0], topic, 5, 1000 * turn + 100)
        clients[0].abort_transaction()
        if turn % 2:
            clients[1].commit_transaction()
        else:
            clients[1].abort_transaction()
    clients[2].begin_transaction()
    produce(clients[2], topic, 5)
    produce(plain, topic, 5)
    committed = same_table(broker, topic)
    assert committed.num_rows == 6 * 10 + 3 * 20
    for start in (0, 13, 47, 101, 150):
        same_table(broker, topic, start, start + 33)
    clients[2].abort_transaction()
    assert same_table(broker, topic).num_rows == 6 * 10 + 3 * 20 + 5


def wait_for_compaction(broker: Broker, topic: str) -> None:
    """Until everything but the active segment is compacted."""
    address = TopicPartition(topic, 0)
    active_base = broker.call(lambda server: server.broker.logs.get(address).active.base_offset)
    checkpoint = Path(broker.directory) / "cleaner-offset-checkpoint"
    deadline = time.monotonic() + SECONDS_MAX
    while not checkpoint.exists() or f"{topic} 0 {active_base}\n" not in checkpoint.read_text():
        assert time.monotonic() < deadline, "nothing was compacted"
        time.sleep(0.02)


def test_compacted_topic(broker: Broker):
    config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", **SMALL_SEGMENTS}
    topic = broker.create_topic("compacted", 1, config)
    client = producer(broker, batch_size=500)
    for number in range(600):
        client.produce(topic, b"%d" % number * 50, key=b"key-%d" % (number % 9))
    client.flush()
    wait_for_compaction(broker, topic)
    assert 9 <= same_table(broker, topic).num_rows <= 400
    same_table(broker, topic, 100, 590)


def test_empty_partition_and_empty_range(broker: Broker):
    topic = broker.create_topic("empty")
    assert same_table(broker, topic).num_rows == 0
    produce(producer(broker), topic, 3)
    assert same_table(broker, topic, 2, 2).num_rows == 0


def test_topic_in_memory_is_fetched(broker: Broker):
    topic = broker.create_topic("memory", 1, {"storage": "memory"})
    produce(producer(broker), topic, 30)
    settings = ways(broker)
    wanted = OffsetRange(topic, 0, 0, 30)
    assert table(wanted, settings["auto"]).equals(table(wanted, settings["fetch"]))
    with pytest.raises(StorageUnreachable, match=r"memory-0 has no partition\.metadata"):
        table(wanted, settings["storage"])


def delete_records(broker: Broker, topic: str, before: int) -> None:
    broker.call(
        lambda server: server.broker.logs.get(TopicPartition(topic, 0)).delete_records_before(
            before
        )
    )


@pytest.mark.parametrize("way", ["auto", "storage", "objects", "fetch"])
def test_deleted_records_are_a_loss(broker: Broker, way: str, caplog: pytest.LogCaptureFixture):
    topic = broker.create_topic(f"deleted-{way}", 1, SMALL_SEGMENTS)
    produce(producer(broker), topic, 100)
    delete_records(broker, topic, 42)
    wanted, settings = OffsetRange(topic, 0, 10, 100), ways(broker)[way]
    with pytest.raises(DataLoss, match=f"offsets 10 to 41 of {topic}-0 are lost"):
        table(wanted, settings)
    with caplog.at_level(logging.WARNING):
        found = table(wanted, settings._replace(fail_on_data_loss=False))
    assert found.column("offset").to_pylist() == list(range(42, 100))
    assert "offsets 10 to 41" in caplog.text
    all_gone = OffsetRange(topic, 0, 1, 30)
    assert table(all_gone, settings._replace(fail_on_data_loss=False)).num_rows == 0


@pytest.mark.parametrize("way", ["storage", "objects", "fetch"])
@pytest.mark.parametrize("is_fatal", [True, False])
def test_records_deleted_while_they_are_read(broker: Broker, way: str, is_fatal: bool):
    topic = broker.create_topic(f"vanishing-{way}-{is_fatal}", 1, SMALL_SEGMENTS)
    client = producer(broker, batch_size=1000)
    for first in range(0, 20_000, 100):
        produce(client, topic, 100, first)
    settings = ways(broker)[way]._replace(
        fail_on_data_loss=is_fatal,
        batch_rows_max=10,
        kafka={
            "bootstrap.servers": broker.bootstrap_servers,
            "queued.max.messages.kbytes": "16",
            "fetch.message.max.bytes": "2000",
        },
    )
    reading = read_range(OffsetRange(topic, 0, 0, 20_000), settings)
    offsets = next(reading).batch.column("offset").to_pylist()
    delete_records(broker, topic, 19_950)
    if is_fatal:
        with pytest.raises(DataLoss) as loss:
            list(reading)
        assert loss.value.next_offset == 19_950 or way != "fetch"
        return
    for columns in reading:
        offsets += columns.batch.column("offset").to_pylist()
    assert offsets == sorted(set(offsets))
    assert offsets[-50:] == list(range(19_950, 20_000))


def test_damaged_batch_is_told_and_the_others_are_read(broker: Broker):
    topic = broker.create_topic("damaged")
    client = producer(broker)
    for first in range(0, 50, 10):
        produce(client, topic, 10, first)
    path = Path(broker.directory) / "damaged-0" / "00000000000000000000.log"
    position = path.read_bytes().index(b"value-25")
    with path.open("r+b") as file:
        file.seek(position)
        file.write(b"VALUE")
    settings_of, lost = ways(broker), set()
    with pytest.raises(CorruptRecord, match="damaged-0 from offset"):
        table(OffsetRange(topic, 0, 5, 50), settings_of.pop("fetch"))
    for way, settings in settings_of.items():
        found = list(read_range(OffsetRange(topic, 0, 5, 50), settings))
        ((first, last),) = ((b.base_offset, b.last_offset) for part in found for b in part.bad)
        assert first <= 25 <= last, way
        lost.add((first, last))
        offsets = [n for part in found for n in part.batch.column("offset").to_pylist()]
        assert offsets == [n for n in range(5, 50) if not first <= n <= last], way
    assert len(lost) == 1


def test_header_key_that_is_no_text_is_named(broker: Broker):
    """Brokers do not look at headers, so anything may be in a log."""
    topic = broker.create_topic("no-text")
    record = Record(0, 5, b"k", b"v", (Header("key", b"1"),))
    batch = bytes(build_batch([record]))
    damaged = assemble(read_header(batch), batch[HEADER_SIZE:].replace(b"key", b"\xff\xfe\xfd"))
    with RawClient(broker.port) as client:
        for data in (damaged, batch):
            assert wire_produce(client, topic, {0: bytes(data)})[0].error_code == 0
    wanted, settings = OffsetRange(topic, 0, 0, 2), ways(broker)
    with pytest.raises(CorruptRecord, match=r"no-text-0, offset 0: a header key is not UTF-8"):
        table(wanted, settings["fetch"])
    values_only = settings["fetch"]._replace(columns=("value",))
    assert table(wanted, values_only).column("value").to_pylist() == [b"v", b"v"]
    stored = list(read_range(wanted, settings["storage"]))
    assert [bad.reason for columns in stored for bad in columns.bad] == [
        "a header key is not UTF-8"
    ]
    assert sum(columns.batch.num_rows for columns in stored) == 1


def test_log_shorter_than_planned_is_a_loss(broker: Broker):
    topic = broker.create_topic("shorter")
    produce(producer(broker), topic, 10)
    for settings in ways(broker).values():
        with pytest.raises(DataLoss, match="offsets 10 to 19 of shorter-0 are lost"):
            table(OffsetRange(topic, 0, 5, 20), settings)
        lenient = settings._replace(fail_on_data_loss=False)
        assert table(OffsetRange(topic, 0, 5, 20), lenient).num_rows == 5


def test_topic_made_anew_is_not_mixed_with_the_old_one(broker: Broker):
    topic = broker.create_topic("anew")
    produce(producer(broker), topic, 20)
    directory = Path(broker.directory)
    old = (directory / "anew-0" / "partition.metadata").read_bytes()
    broker.call(lambda server: server.broker.topic_changes.delete(topic))
    broker.create_topic(topic)
    produce(producer(broker), topic, 20, 505)
    assert values(same_table(broker, topic))[0] == b"value-505"
    # As if the directory were still the one of the old topic, in a store that lags behind.
    (directory / "anew-0" / "partition.metadata").write_bytes(old)
    wanted, settings = OffsetRange(topic, 0, 0, 20), ways(broker)
    with pytest.raises(StorageUnreachable, match="another topic of the same name"):
        table(wanted, settings["objects"])
    assert values(table(wanted, settings["auto"]))[0] == b"value-505"


@pytest.mark.parametrize("way", ["auto", "storage", "fetch"])
def test_topic_made_anew_after_the_driver_planned_is_a_loss(broker: Broker, way: str):
    topic = broker.create_topic(f"planned-{way}")
    produce(producer(broker), topic, 20)
    settings = ways(broker)[way]
    planned = broker_view_of(settings.kafka).topic_id(topic).hex()
    settings = settings._replace(topic_ids={topic: planned})
    wanted = OffsetRange(topic, 0, 0, 20)
    assert table(wanted, settings).num_rows == 20
    broker.call(lambda server: server.broker.topic_changes.delete(topic))
    broker.create_topic(topic)
    produce(producer(broker), topic, 30)
    with pytest.raises(DataLoss, match=r"offsets 0 to 19 .* deleted and made anew"):
        table(wanted, settings)
    assert table(wanted, settings._replace(fail_on_data_loss=False)).num_rows == 0


def test_topic_made_anew_in_the_middle_of_a_range_is_a_loss(broker: Broker):
    topic = broker.create_topic("between-segments", 1, SMALL_SEGMENTS)
    client = producer(broker, batch_size=1000)
    produce(client, topic, 2000)
    settings = ways(broker)["auto"]
    planned = broker_view_of(settings.kafka).topic_id(topic).hex()
    reading = read_range(
        OffsetRange(topic, 0, 0, 2000),
        settings._replace(topic_ids={topic: planned}, batch_rows_max=10),
    )
    seen = [next(reading)]
    broker.call(lambda server: server.broker.topic_changes.delete(topic))
    broker.create_topic(topic)
    produce(producer(broker), topic, 2000, 5000)
    with pytest.raises(DataLoss, match="deleted and made anew") as loss:
        seen.extend(reading)
    newest = max(columns.batch.column("timestamp")[-1].as_py() for columns in seen)
    assert newest.timestamp() < 1_700_000_002
    assert loss.value.first_offset == sum(columns.batch.num_rows for columns in seen) < 2000


def test_several_ranges_are_asked_about_at_once(broker: Broker, monkeypatch: pytest.MonkeyPatch):
    topics = [broker.create_topic(f"several-{number}") for number in range(3)]
    for topic in topics:
        produce(producer(broker), topic, 20)
    empty = OffsetRange(topics[0], 0, 7, 7)
    wanted = [empty, *(OffsetRange(topic, 0, 5, 20) for topic in topics)]
    settings = ways(broker)["storage"]
    view = broker_view_of(settings.kafka)
    questions = []
    ask = view._offsets
    monkeypatch.setattr(view, "_offsets", lambda *asked: (questions.append(asked), ask(*asked))[1])
    found = [(range_, columns.batch.num_rows) for range_, columns in read_ranges(wanted, settings)]
    assert found == [(range_, 15) for range_ in wanted[1:]]
    assert len(questions) == 2, "where the logs start and where they end"


def test_one_lost_range_of_several_is_a_loss_and_the_others_are_read(broker: Broker):
    kept, lost = (broker.create_topic(f"{name}-of-several") for name in ("kept", "lost"))
    for topic in (kept, lost):
        produce(producer(broker), topic, 10)
    wanted = [OffsetRange(lost, 0, 0, 15), OffsetRange(kept, 0, 0, 10)]
    settings = ways(broker)["auto"]
    with pytest.raises(DataLoss, match="the log ends at 10 now"):
        list(read_ranges(wanted, settings))
    lenient = settings._replace(fail_on_data_loss=False)
    found = [(range_, columns.batch.num_rows) for range_, columns in read_ranges(wanted, lenient)]
    assert found == [(range_, 10) for range_ in wanted]


@pytest.mark.parametrize("name", ["missing", "a b", "../x", ""])
def test_missing_topic_is_named(broker: Broker, name: str):
    for settings in ways(broker).values():
        with pytest.raises(TopicMissing):
            table(OffsetRange(name, 0, 0, 5), settings)


def test_storage_of_another_broker_is_not_read(broker: Broker, tmp_path: Path):
    topic = broker.create_topic("mine")
    produce(producer(broker), topic, 10)
    (tmp_path / "meta.properties").write_text("cluster.id=somebody-else\nversion=1\n")
    wanted, settings = OffsetRange(topic, 0, 0, 10), ways(broker)["storage"]
    for url, told in (
        (str(tmp_path), "belongs to cluster somebody-else"),
        (str(tmp_path / "nowhere"), r"there is no meta\.properties"),
        (f"obstore+file://{tmp_path}", "belongs to cluster somebody-else"),
    ):
        with pytest.raises(StorageUnreachable, match=told):
            table(wanted, settings._replace(storage_url=url))
        assert table(wanted, settings._replace(storage_url=url, path="auto")).num_rows == 10


@pytest.mark.parametrize("is_left_behind", [True, False], ids=["left behind", "gone"])
def test_files_that_the_broker_has_left_are_forgotten(
    broker: Broker, tmp_path: Path, is_left_behind: bool
):
    """It began anew elsewhere while a worker knew the old place."""
    topic = broker.create_topic(f"moved-{is_left_behind}")
    produce(producer(broker), topic, 10)
    settings = ways(broker)["auto"]
    view = broker_view_of(settings.kafka)
    old = tmp_path / "old"
    if is_left_behind:
        shutil.copytree(broker.directory, old)
    produce(producer(broker), topic, 10, 10)
    view._maybe_directory = math.inf, str(old)
    assert table(OffsetRange(topic, 0, 0, 20), settings).num_rows == 20
    assert view.log_directory() == broker.directory


def test_storage_that_lags_behind_is_made_up_for_by_fetch(broker: Broker, tmp_path: Path):
    topic = broker.create_topic("lagging")
    client = producer(broker)
    produce(client, topic, 50)
    source = Path(broker.directory)
    (tmp_path / "lagging-0").mkdir()
    for name in ("meta.properties", "lagging-0/partition.metadata"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    log = "lagging-0/00000000000000000000.log"
    (tmp_path / log).write_bytes((source / log).read_bytes())
    produce(client, topic, 50, 50)
    wanted = OffsetRange(topic, 0, 10, 100)
    settings = ways(broker)["storage"]._replace(storage_url=f"obstore+file://{tmp_path}")
    with pytest.raises(StorageUnreachable, match="ends at offset 50"):
        table(wanted, settings)
    found = table(wanted, settings._replace(path="auto"))
    assert found.column("offset").to_pylist() == list(range(10, 100))


def test_broker_that_is_gone_is_named():
    with Broker() as broker:
        kafka = {"bootstrap.servers": broker.bootstrap_servers, "default.api.timeout.ms": "500"}
    for path in ("auto", "storage", "fetch"):
        with pytest.raises(BrokerUnreachable):
            table(OffsetRange("t", 0, 0, 5), ReadSettings(kafka, path))
