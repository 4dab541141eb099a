"""Table topics at the broker: one process while a topic wants a table, told, restarted, ended."""

from __future__ import annotations

import asyncio
import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from headrace.broker.topic_changes import NewTopic
from headrace.config.alter import Change, Operation
from headrace.config.listeners import Listener
from headrace.config.serve import ServeSettings
from headrace.coordination.metadata.records import ResourceType
from headrace.coordination.metadata.state import ConfigResource
from headrace.server import table_process
from headrace.server.launcher import Server
from headrace.server.table_topics import TableTopics, local_bootstrap

if TYPE_CHECKING:
    from pathlib import Path

WAIT_SECONDS = 30.0
CHILD = """
import os, sys
with open({log!r}, "a") as log:
    log.write("start " + " ".join(sys.argv[1:]) + chr(10)); log.flush()
    for line in sys.stdin:
        log.write(line); log.flush()
        if "crash" in line and not os.path.exists({log!r} + ".crashed"):
            open({log!r} + ".crashed", "w").close()
            os._exit(3)
    log.write("end" + chr(10))
"""
TABLE = {"headrace.table.format": "delta", "headrace.table.location": "/lake/x"}


class Bench:
    """A broker, and its table topics with a child that only writes down what it hears."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / "child.log"
        data = str(directory / "data")
        self.server = Server(ServeSettings.resolve({"data": data, "listen": "kafka://127.0.0.1:0"}))
        self.tables: TableTopics
        self._program = [sys.executable, "-c", CHILD.format(log=str(self.log))]

    async def start(self, **more: Any) -> None:
        await self.server.start()
        options: dict[str, Any] = {"is_installed": lambda: True, "program": self._program, **more}
        bootstrap = options.pop("bootstrap", "127.0.0.1:1")
        self.tables = TableTopics(self.server.broker, self.server._background, bootstrap, **options)
        self.tables.start()

    async def stop(self) -> None:
        await self.tables.stop()
        await self.server.stop()

    def create(self, name: str, config: dict[str, str]) -> None:
        self.server.broker.topic_changes.create(NewTopic(name, 1, 1, config))

    def unset(self, name: str) -> None:
        changes = [Change(each, Operation.DELETE) for each in TABLE]
        resource = ConfigResource(ResourceType.TOPIC, name)
        self.server.broker.configurations.alter(resource, changes)

    def heard(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    async def until_heard(self, count: int) -> list[str]:
        async with asyncio.timeout(WAIT_SECONDS):
            while len(self.heard()) < count:  # noqa: ASYNC110 (a file of another process)
                await asyncio.sleep(0.01)
        return self.heard()


def topics_in(line: str) -> list[str]:
    return [each["topic"] for each in json.loads(line)["tables"]]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(table_process, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(table_process, "BACKOFF_FIRST_SECONDS", 0.01)
    return Bench(tmp_path)


def test_process_is_told_of_every_change(bench: Bench) -> None:
    async def scenario() -> None:
        await bench.start()
        bench.create("plain", {})
        assert not bench.tables.is_running
        bench.create("a", TABLE)
        heard = await bench.until_heard(2)
        assert heard[0] == "start pipeline supervise --bootstrap 127.0.0.1:1"
        assert json.loads(heard[1])["tables"] == [
            {"topic": "a", "format": "delta", "location": "/lake/x", "schema": "raw"}
        ]
        bench.create("b", TABLE)
        assert topics_in((await bench.until_heard(3))[2]) == ["a", "b"]
        bench.unset("a")
        assert topics_in((await bench.until_heard(4))[3]) == ["b"]
        await bench.stop()
        assert not bench.tables.is_running

    asyncio.run(scenario())


def test_process_ends_with_the_last_table_and_comes_back_with_the_next(bench: Bench) -> None:
    async def scenario() -> None:
        await bench.start()
        bench.create("a", TABLE)
        await bench.until_heard(2)
        bench.server.broker.topic_changes.delete("a")
        assert bench.tables.topic_count == 0
        bench.create("b", TABLE)  # while the old process is on its way out
        heard = await bench.until_heard(4)
        assert heard[2].startswith("start")
        assert topics_in(heard[3]) == ["b"]
        assert bench.tables.restarts == 0
        bench.unset("b")
        async with asyncio.timeout(WAIT_SECONDS):
            while bench.tables.is_running:  # noqa: ASYNC110 (a process is no event)
                await asyncio.sleep(0.01)
        await bench.stop()

    asyncio.run(scenario())


def test_process_that_cannot_be_started_is_tried_again(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        await bench.start(program=["/no/such/program"])
        bench.create("a", TABLE)
        async with asyncio.timeout(WAIT_SECONDS):
            while bench.tables.restarts < 2:  # noqa: ASYNC110 (a counter)
                await asyncio.sleep(0.01)
        await bench.stop()

    asyncio.run(scenario())
    assert "cannot be started" in caplog.text


def test_process_is_started_again_after_a_fault(bench: Bench) -> None:
    async def scenario() -> None:
        await bench.start()
        bench.create("crash", TABLE)
        heard = await bench.until_heard(4)
        assert [line.split()[0] for line in heard[::2]] == ["start", "start"]
        assert topics_in(heard[3]) == ["crash"]
        assert bench.tables.restarts == 1
        await bench.stop()

    asyncio.run(scenario())


def test_topics_that_have_tables_at_the_start_are_told(bench: Bench) -> None:
    async def scenario() -> None:
        await bench.server.start()
        bench.create("a", TABLE)
        await bench.server.stop()
        bench.server = Server(bench.server.settings)
        await bench.start()
        assert topics_in((await bench.until_heard(2))[1]) == ["a"]
        await bench.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"is_installed": lambda: False}, "pip install 'headrace[spark]'"),
        ({"bootstrap": None}, "headrace.table.client.config"),
    ],
)
def test_what_is_missing_is_a_warning(
    bench: Bench, options: dict[str, Any], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        await bench.start(**options)
        bench.create("a", TABLE)
        assert not bench.tables.is_running
        await bench.stop()

    asyncio.run(scenario())
    assert message in caplog.text
    assert bench.heard() == []


def test_address_is_that_of_a_listener_without_log_in() -> None:
    secure = Listener("kafka+sasl_ssl", "127.0.0.1", 0)
    plain = Listener("kafka", "127.0.0.1", 0, "broker.lan", 9999)
    http = Listener("http", "127.0.0.1", 0)
    doors = [(http, 3), (secure, 1), (plain, 2)]
    for has_client_config in (False, True):
        found = local_bootstrap(doors, has_client_config=has_client_config)
        assert found == "broker.lan:9999"
    assert local_bootstrap(doors[:2], has_client_config=False) is None
    assert local_bootstrap(doors[:2], has_client_config=True) == "127.0.0.1:1"


class HeldBackground:
    """Does nothing until it is told to."""

    def __init__(self) -> None:
        self.work: list[tuple[Any, Any]] = []
        self.timers: list[Any] = []

    def submit(self, work: Any, done: Any) -> None:
        self.work.append((work, done))

    def call_later(self, delay_seconds: float, callback: Any) -> Any:
        self.timers.append(callback)
        return SimpleNamespace(cancel=lambda: None)

    def do_work(self) -> None:
        work, done = self.work.pop(0)
        work()
        done(None)

    def fire(self) -> None:
        self.timers.pop(0)()


def test_child_after_one_that_died_while_it_was_told_is_told_as_well(tmp_path: Path) -> None:
    log = tmp_path / "log"
    background: Any = HeldBackground()
    command = [sys.executable, "-c", CHILD.format(log=str(log))]
    process = table_process.TableProcess(lambda: command, background)
    process.tell(b"tables\n")
    first = process._process
    assert first is not None
    first.kill()
    first.wait()
    background.fire()  # it is seen to be gone
    background.fire()  # and another one is started, with the line still on its way to the first
    assert process.restarts == 1
    background.do_work()
    background.do_work()

    async def scenario() -> None:
        async with asyncio.timeout(WAIT_SECONDS):
            while "tables" not in (log.read_text() if log.exists() else ""):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await process.stop()

    asyncio.run(scenario())
