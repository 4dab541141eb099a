"""The outbox under kills: service, relays, receiver and broker die at random moments."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from soak.administrator import Administrator
from soak.clients import ClientStuck, as_bytes
from soak.patterns import account_service
from soak.patterns.receiver import metadata as receiver_metadata
from soak.patterns.receiver import open_database, received
from soak.patterns.verdict import Received, judge
from soak.topics import plain
from soak.whole_topic import read_whole
from tests.interop.broker_process import BrokerProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Engine

    from headrace.testing.history import Report

TOPIC = "changes"
PARTITIONS = 3
DATABASES = ("near", "far")
BROKER = "broker"
MOMENT_SECONDS_MAX = 0.3
LOOK_SECONDS = 0.02
STALL_SECONDS_MAX = 120.0
ROOT = Path(__file__).parents[2]
BROKER_OPTIONS = (
    *("--set", "group.min.session.timeout.ms=1000"),
    *("--set", "group.initial.rebalance.delay.ms=0"),
)
RELAY_OPTIONS = ("--send-timeout-s", "0.5", "--settle-s", "0.2", "--poll-s", "0.01")


@dataclass
class OutboxResult:
    """What a run did and found."""

    seed: int
    kills: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    report: Report | None = None

    @property
    def is_clean(self) -> bool:
        return self.report is not None and self.report.is_clean and not self.failures


class Parties:
    """Processes by name; each can be killed and is started again at once."""

    def __init__(self, commands: dict[str, list[str]], directory: Path) -> None:
        self._commands = commands
        self._directory = directory
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def names(self) -> list[str]:
        return sorted(self._commands)

    def start(self) -> None:
        for name in self._commands:
            self._spawn(name)

    def kill(self, name: str) -> None:
        self._end(name)
        self._spawn(name)

    def stop(self, *names: str) -> None:
        for name in names or self.names:
            if name in self._running:
                self._end(name)

    def raise_if_one_ended(self) -> None:
        for name, process in self._running.items():
            if process.poll() is not None:
                log = self._directory / f"{name}.log"
                raise ClientStuck(f"{name} ended with {process.returncode}: {log} says why")

    def _spawn(self, name: str) -> None:
        with (self._directory / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                [sys.executable, "-m", *self._commands[name]], cwd=ROOT, stdout=log, stderr=log
            )

    def _end(self, name: str) -> None:
        process = self._running.pop(name)
        process.kill()
        process.wait()


class OutboxRun:
    """One broker, one outbox. ``run`` may be called once."""

    def __init__(
        self,
        directory: Path,
        url_pattern: str,
        *,
        kills: int,
        seed: int,
        on_kill: Callable[[OutboxResult], None] = lambda result: None,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.result = OutboxResult(seed)
        self._kills = kills
        self._on_kill = on_kill
        self._chance = random.Random(seed)
        self._broker = BrokerProcess(directory / "broker", BROKER_OPTIONS)
        self._directory = directory
        self._near_url, self._far_url = (url_pattern.format(service=name) for name in DATABASES)
        self._near = open_database(self._near_url)
        self._far = open_database(self._far_url)

    def run(self) -> OutboxResult:
        started_s = time.monotonic()
        account_service.prepare(self._near)
        receiver_metadata.create_all(self._far)
        with self._broker:
            try:
                self._run()
            except (ClientStuck, TimeoutError) as error:
                self.result.failures.append(repr(error))
            finally:
                self._parties.stop()
        for engine in (self._near, self._far):
            engine.dispose()
        self.result.seconds = time.monotonic() - started_s
        return self.result

    def _run(self) -> None:
        address = self._broker.bootstrap_servers
        self._parties = Parties(self._commands(address), self._directory)
        Administrator(address).create([plain(TOPIC, PARTITIONS)])
        self._parties.start()
        for _ in range(self._kills):
            self._await_progress()
            time.sleep(self._chance.random() * MOMENT_SECONDS_MAX)
            self._kill(self._chance.choice([*self._parties.names, BROKER]))
            self._on_kill(self.result)
        self._await_progress()
        self._parties.stop("service")
        self._await(self._is_drained, "rows and messages are left")
        self._parties.stop()
        self.result.report = judge(
            account_service.versions(self._near), sent(address), received_rows(self._far)
        )

    def _commands(self, address: str) -> dict[str, list[str]]:
        relay = ["headrace.patterns.relay_main", "--database", self._near_url]
        relay += ["--bootstrap-servers", address, *RELAY_OPTIONS]
        service = ["soak.patterns.account_service", self._near_url, TOPIC]
        return {
            "service": [*service, str(self.result.seed)],
            "relay-1": relay,
            "relay-2": relay,
            "receiver": ["soak.patterns.receiver", self._far_url, address, TOPIC],
        }

    def _kill(self, victim: str) -> None:
        self.result.kills[victim] += 1
        if victim == BROKER:
            self._broker.kill()
            self._broker.start()
        else:
            self._parties.kill(victim)

    def _progress(self) -> tuple[int, int, int]:
        """Changes that are committed, relayed, and handled at the far end."""
        with self._near.connect() as connection:
            rows = account_service.outbox.rows
            changes = func.sum(account_service.accounts.c.version)
            committed = int(connection.execute(select(changes)).scalar_one())
            waiting = connection.execute(select(func.count()).select_from(rows)).scalar_one()
        handled = sum(one.messages for one in received_rows(self._far).values())
        return committed, committed - waiting, handled

    def _await_progress(self) -> None:
        """Killing what has not begun to work proves nothing: all three must have moved."""
        before = self._progress()
        self._await(
            lambda: all(new > old for new, old in zip(self._progress(), before, strict=True)),
            f"no progress since {before}",
        )

    def _is_drained(self) -> bool:
        committed, relayed, handled = self._progress()
        return committed == relayed == handled

    def _await(self, condition: Callable[[], bool], what: str) -> None:
        deadline_s = time.monotonic() + STALL_SECONDS_MAX
        while not condition():
            self._parties.raise_if_one_ended()
            if time.monotonic() > deadline_s:
                raise ClientStuck(f"{what}: {self._progress()} (committed, relayed, handled)")
            time.sleep(LOOK_SECONDS)


def sent(bootstrap_servers: str) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for message in read_whole(bootstrap_servers, TOPIC, PARTITIONS):
        account = int(as_bytes(message.key()) or b"-1")
        found.setdefault(account, []).append(int(as_bytes(message.value()) or b"0"))
    return found


def received_rows(engine: Engine) -> dict[int, Received]:
    with engine.connect() as connection:
        rows = connection.execute(select(received)).all()
    return {int(row.account): Received(row.messages, row.sum_of_versions) for row in rows}
