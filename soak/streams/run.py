"""The word count under kills: lines go in, and in each round broker and application are killed.

The application is Kafka's own library with its state on the disk, its internal topics and one
transactional producer per thread; nothing of it is made for this test.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException, Producer

from bench.peers import HEADRACE
from soak.administrator import Administrator
from soak.clients import ClientStuck, as_bytes, client_settings
from soak.streams.tally import Tally
from soak.topics import plain
from soak.transactions.programs import JAVA_OPTIONS, compiled
from soak.transactions.run import make_broker
from soak.whole_topic import assigned_consumer, read_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.peers import PeerName
    from headrace.testing.history import Report

SOURCES = Path(__file__).parent / "java"
INPUT_TOPIC, OUTPUT_TOPIC = "lines", "counts"
PARTITIONS = 2
VOCABULARY = tuple(f"word{number}" for number in range(60))
WORDS_PER_LINE = 8
APART_SECONDS_MAX = 1.0
"""Between the kills of a round, whichever comes first."""
STALL_SECONDS_MAX = 180.0
POLL_SECONDS = 0.2
FLUSH_SECONDS_MAX = 120.0


@dataclass
class StreamsResult:
    """What a run did and found."""

    broker: PeerName
    seed: int
    kills_of_broker: int = 0
    kills_of_application: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    report: Report | None = None

    @property
    def is_clean(self) -> bool:
        return self.report is not None and self.report.is_clean and not self.failures


class StreamsRun:
    """One broker, one application. ``run`` may be called once."""

    def __init__(
        self,
        directory: Path,
        *,
        lines: int,
        kills: int,
        seed: int,
        broker: PeerName = HEADRACE,
        on_progress: Callable[[StreamsResult, int], None] = lambda result, words: None,
    ) -> None:
        self.result = StreamsResult(broker, seed)
        self._directory = directory
        self._lines = lines
        self._kills = kills
        self._chance = random.Random(seed)
        self._broker = make_broker(broker, directory / "broker")
        self._application = Application(directory / "application")
        self._on_progress = on_progress
        self._sent: Counter[str] = Counter()

    def run(self) -> StreamsResult:
        started_s = time.monotonic()
        self._broker.start()
        try:
            self._run()
        except (ClientStuck, KafkaException, TimeoutError) as error:
            self.result.failures.append(repr(error))
        finally:
            self._application.kill()
            self._broker.kill()
        self.result.seconds = time.monotonic() - started_s
        return self.result

    def _run(self) -> None:
        address = self._broker.bootstrap_servers
        Administrator(address).create(
            [plain(INPUT_TOPIC, PARTITIONS), plain(OUTPUT_TOPIC, PARTITIONS)]
        )
        producer = Producer(client_settings(address, enable_idempotence=True))
        follower = Follower(address)
        self._application.start(address)
        for _ in range(self._kills):
            before = self._sent.total()
            self._send(producer, self._lines // (self._kills + 1))
            self._await(follower, self._chance.randint(before, self._sent.total()))
            self._kill_both()
        self._send(producer, self._lines - self._sent.total() // WORDS_PER_LINE)
        self._await(follower, self._sent.total())
        follower.close()
        self.result.report = whole_tally(address).report(self._sent)

    def _send(self, producer: Producer, lines: int) -> None:
        for _ in range(lines):
            words = self._chance.choices(VOCABULARY, k=WORDS_PER_LINE)
            self._sent.update(words)
            producer.produce(INPUT_TOPIC, " ".join(words).encode())
        unsent = producer.flush(FLUSH_SECONDS_MAX)
        if unsent:
            raise TimeoutError(f"{unsent} lines are not acknowledged")

    def _await(self, follower: Follower, words: int) -> None:
        seen, deadline_s = -1, time.monotonic() + STALL_SECONDS_MAX
        while follower.follow() < words:
            self._application.raise_if_ended()
            if follower.tally.words > seen:
                seen, deadline_s = follower.tally.words, time.monotonic() + STALL_SECONDS_MAX
                self._on_progress(self.result, seen)
            if time.monotonic() > deadline_s:
                raise ClientStuck(f"{seen} of {words} words are counted, then no progress")

    def _kill_both(self) -> None:
        kills = [self._kill_application, self._kill_broker]
        self._chance.shuffle(kills)
        for kill in kills:
            kill()
            time.sleep(self._chance.random() * APART_SECONDS_MAX)

    def _kill_application(self) -> None:
        self._application.kill()
        self.result.kills_of_application += 1
        self._application.start(self._broker.bootstrap_servers)

    def _kill_broker(self) -> None:
        self._broker.kill()
        self.result.kills_of_broker += 1
        self._broker.start()


class Application:
    """WordCount.java as a process; its state directory outlives it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, bootstrap_servers: str) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        temporary = self._directory / "unpacked"  # the native library of the state store
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        command = ["java", *JAVA_OPTIONS, f"-Djava.io.tmpdir={temporary}", "-cp", class_path()]
        command += ["WordCount", bootstrap_servers, INPUT_TOPIC, OUTPUT_TOPIC]
        command += [str(self._directory / "state")]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def raise_if_ended(self) -> None:
        if self._process is None or self._process.poll() is not None:
            raise ClientStuck(f"the word count has ended: {self._directory / 'log'} says why")


class Follower:
    """Reads the counts as they come, to know how far the application is."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.tally = Tally()
        self._consumer = assigned_consumer(
            bootstrap_servers, OUTPUT_TOPIC, PARTITIONS, "read_committed"
        )

    def follow(self) -> int:
        """How many words are counted by now."""
        message = self._consumer.poll(POLL_SECONDS)
        while message is not None:
            if message.error() is None:
                note(self.tally, message.key(), message.value())
            message = self._consumer.poll(0)
        return self.tally.words

    def close(self) -> None:
        self._consumer.close()


def class_path() -> str:
    sources = sorted(SOURCES.glob("*.java"))
    return compiled("soak-streams", SOURCES / "streams-pom.xml", sources)


def note(tally: Tally, key: str | bytes | None, value: str | bytes | None) -> None:
    tally.read((as_bytes(key) or b"").decode(), int(as_bytes(value) or b"0"))


def whole_tally(bootstrap_servers: str) -> Tally:
    """All that is in the output now, read from its beginning."""
    tally = Tally()
    for message in read_whole(bootstrap_servers, OUTPUT_TOPIC, PARTITIONS):
        note(tally, message.key(), message.value())
    return tally
