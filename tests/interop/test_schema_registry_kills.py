"""The registry of a broker that is killed: what was answered is there, no id is given twice."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("confluent_kafka.schema_registry")

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from .broker_process import BrokerProcess
from .deadline import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop

KILLS = 3
WRITERS = 3
REGISTERED_BETWEEN_KILLS = 10
SECONDS_MAX = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Served:
    """A broker process, and where its registry is."""

    def __init__(self, directory: Path) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.process = BrokerProcess(directory / "data", ["--listen", self.url])

    def client(self) -> SchemaRegistryClient:
        return SchemaRegistryClient({"url": self.url, "max.retries": 0})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    served = Served(tmp_path)
    with served.process:
        yield served


class Writer(threading.Thread):
    """Registers one schema after the other, and remembers what was answered."""

    def __init__(self, served: Served, number: int) -> None:
        super().__init__(name=f"writer-{number}", daemon=True)
        self._served = served
        self._number = number
        self.answered: dict[int, str] = {}
        self.stopped = threading.Event()

    def run(self) -> None:
        attempt = 0
        with self._served.client() as client:
            while not self.stopped.is_set():
                name = f"W{self._number}N{attempt}"
                text = json.dumps({"type": "enum", "name": name, "symbols": ["A"]})
                try:
                    given = client.register_schema(name, Schema(text, "AVRO"))
                except Exception:
                    self.stopped.wait(0.05)  # the broker is away: the same one again
                    continue
                self.answered[given] = text
                attempt += 1


def count(writers: list[Writer]) -> int:
    return sum(len(writer.answered) for writer in writers)


def wait_for_more(writers: list[Writer]) -> None:
    goal = count(writers) + REGISTERED_BETWEEN_KILLS
    wait_until(lambda: count(writers) >= goal, f"{goal} schemas", SECONDS_MAX)


def test_kills_lose_no_schema_and_no_id(served: Served) -> None:
    writers = [Writer(served, number) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        wait_for_more(writers)
        served.process.kill()
        served.process.start()
    wait_for_more(writers)
    for writer in writers:
        writer.stopped.set()
        writer.join(SECONDS_MAX)
    answered = {id: text for writer in writers for id, text in writer.answered.items()}
    assert len(answered) == count(writers), "an id was given twice"
    with served.client() as client:
        for schema_id, text in answered.items():
            assert json.loads(client.get_schema(schema_id).schema_str) == json.loads(text)


def test_id_that_went_for_good_is_not_given_again_after_a_kill(served: Served) -> None:
    with served.client() as client:
        client.register_schema("kept", Schema('"int"', "AVRO"))
        gone = client.register_schema("gone", Schema('"long"', "AVRO"))
        client.delete_subject("gone")
        client.delete_subject("gone", permanent=True)
    served.process.kill()
    served.process.start()
    with served.client() as client:
        assert client.get_subjects(deleted=True) == ["kept"]
        assert client.register_schema("new", Schema('"bytes"', "AVRO")) == gone + 1


def test_records_are_confluents(served: Served) -> None:
    with served.client() as client:
        client.register_schema("s", Schema('"int"', "AVRO"))
        client.set_compatibility("s", "FULL")
        client.delete_subject("s")
    consumer = Consumer({"bootstrap.servers": served.process.bootstrap_servers, "group.id": "g"})
    try:
        consumer.assign([TopicPartition("_schemas", 0, 0)])
        records = consumer.consume(4, SECONDS_MAX)
    finally:
        consumer.close()
    found = [(json.loads(r.key()), r.value() and json.loads(r.value())) for r in records]
    schema = {"keytype": "SCHEMA", "subject": "s", "version": 1, "magic": 1}
    level = {"keytype": "CONFIG", "subject": "s", "magic": 0}
    assert found == [
        (schema, {"subject": "s", "version": 1, "id": 1, "schema": '"int"', "deleted": False}),
        (level, {"compatibilityLevel": "FULL"}),
        (
            {"keytype": "DELETE_SUBJECT", "subject": "s", "magic": 0},
            {"subject": "s", "version": 1},
        ),
        (level, None),
    ]
