from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from headrace.pipeline.errors import TopicMissing
from headrace.pipeline.functions import FileTable, TopicTable
from headrace.pipeline.functions import lookup as lookup_module
from headrace.pipeline.functions.errors import InvalidFunction, TableTooLarge
from headrace.pipeline.functions.lookup import FileLookup, TopicLookup, open_tables
from headrace.testing import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


def test_a_parquet_file(tmp_path: Path) -> None:
    path = str(tmp_path / "users.parquet")
    pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"]}), path)
    assert FileLookup(FileTable(path, "id")).current()[2] == {"id": 2, "name": "b"}


@pytest.mark.parametrize(
    ("name", "text"),
    [("users.csv", "id,name\n1,a\n"), ("users.jsonl", '{"id": 1, "name": "a"}\n')],
)
def test_text_files(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    found = FileLookup(FileTable(str(tmp_path / name), "id")).current()
    assert found == {1: {"id": 1, "name": "a"}}


def test_files_that_are_no_table_are_named(tmp_path: Path) -> None:
    (tmp_path / "users.csv").write_text("id,name\n1,a\n")
    with pytest.raises(InvalidFunction, match="has no column user"):
        FileLookup(FileTable(str(tmp_path / "users.csv"), "user"))
    with pytest.raises(InvalidFunction, match="cannot be read"):
        FileLookup(FileTable(str(tmp_path / "none.csv"), "id"))
    with pytest.raises(InvalidFunction, match="not one of parquet, csv, json"):
        FileLookup(FileTable(str(tmp_path / "users.txt"), "id"))
    pq.write_table(pa.table({"id": [[1], [2]]}), tmp_path / "lists.parquet")
    with pytest.raises(InvalidFunction, match=r"id of .* cannot be a key"):
        FileLookup(FileTable(str(tmp_path / "lists.parquet"), "id"))


def test_a_file_with_too_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup_module, "ROWS_MAX", 1)
    (tmp_path / "users.csv").write_text("id\n1\n2\n")
    with pytest.raises(TableTooLarge):
        FileLookup(FileTable(str(tmp_path / "users.csv"), "id"))


def produce(broker: Broker, topic: str, *records: tuple[bytes | None, bytes | None]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value in records:
        producer.produce(topic, value, key)
    assert producer.flush(10) == 0


def kafka(broker: Broker) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


def test_a_topic_is_the_last_value_of_each_key_and_is_followed(broker: Broker) -> None:
    broker.create_topic("users", 2, {"cleanup.policy": "compact"})
    produce(broker, "users", (b"1", b"a"), (b"2", b"b"), (b"1", b"c"), (b"3", b"d"), (b"3", None))
    lookup = TopicLookup(TopicTable("users", refresh_seconds=0), kafka(broker))
    assert lookup.current() == {b"1": b"c", b"2": b"b"}
    assert lookup.current() == {b"1": b"c", b"2": b"b"}
    produce(broker, "users", (b"2", None), (b"4", b"e"))
    assert lookup.current() == {b"1": b"c", b"4": b"e"}


def test_a_fresh_topic_is_not_read_again(broker: Broker) -> None:
    broker.create_topic("slow-users", 1)
    lookup = TopicLookup(TopicTable("slow-users", refresh_seconds=3600), kafka(broker))
    assert lookup.current() == {}
    produce(broker, "slow-users", (b"1", b"a"))
    assert lookup.current() == {}


def test_records_without_a_key_are_nobodys_value(broker: Broker) -> None:
    broker.create_topic("keyless", 1)
    produce(broker, "keyless", (None, b"a"), (b"1", b"b"))
    assert TopicLookup(TopicTable("keyless"), kafka(broker)).current() == {b"1": b"b"}


def test_only_committed_values_count(broker: Broker) -> None:
    broker.create_topic("undecided", 1)
    producer = Producer({**kafka(broker), "transactional.id": "undecided"})
    producer.init_transactions(10)
    producer.begin_transaction()
    producer.produce("undecided", b"a", b"1")
    producer.flush(10)
    lookup = TopicLookup(TopicTable("undecided", refresh_seconds=0), kafka(broker))
    assert lookup.current() == {}
    producer.commit_transaction(10)
    assert lookup.current() == {b"1": b"a"}


def test_a_topic_with_too_many_keys(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup_module, "ROWS_MAX", 1)
    broker.create_topic("many", 1)
    produce(broker, "many", (b"1", b"a"), (b"2", b"b"))
    with pytest.raises(TableTooLarge, match="many"):
        TopicLookup(TopicTable("many"), kafka(broker)).current()


def test_a_topic_that_is_not_there(broker: Broker) -> None:
    with pytest.raises(TopicMissing):
        TopicLookup(TopicTable("nowhere"), kafka(broker)).current()


def test_tables_are_opened_once_per_process(broker: Broker) -> None:
    broker.create_topic("shared", 1)
    tables = {"plain": {b"a": 1}, "topic": TopicTable("shared")}
    first, second = open_tables(tables, kafka(broker)), open_tables(tables, kafka(broker))
    assert first["plain"] == {b"a": 1}
    assert first["topic"] is second["topic"]


def test_something_else_is_no_table() -> None:
    with pytest.raises(InvalidFunction, match="list is no table"):
        open_tables({"t": []}, {})
