"""A start that cannot succeed says in one line what to do; a stop is clean, whoever is there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.interop.deadline import wait_until
from tests.process.command import FREE_PORT, complaint, obey_permissions, serve
from tests.wire.calls import FETCH, batch, fetch, fetch_request, produce
from tests.wire.raw_client import RawClient

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.broker_process import BrokerProcess

STOP_SECONDS_MAX = 5.0
LONG_WAIT_MS = 30_000
MARKER = ".kafka_cleanshutdown"


def listing(directory: Path) -> dict[str, int]:
    """Every file below, with the time of its last change."""
    return {
        str(path.relative_to(directory)): path.stat().st_mtime_ns
        for path in sorted(directory.rglob("*"))
    }


def connect(broker: BrokerProcess) -> RawClient:
    return RawClient(int(broker.bootstrap_servers.rsplit(":", 1)[1]))


# --- starts that fail -----------------------------------------------------------------------------


def test_port_in_use(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        finished = serve("--data", tmp_path / "data", "--listen", f"kafka://127.0.0.1:{port}")
    sentence = complaint(finished)
    assert f"127.0.0.1:{port}" in sentence
    assert "choose another port with --listen" in sentence


def test_port_in_use_leaves_a_directory_that_starts_cleanly(make_broker):
    broker = make_broker()
    with connect(broker) as client:
        produce_to_new_topic(client)
    broker.terminate()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        complaint(serve("--data", broker.directory, "--listen", f"kafka://127.0.0.1:{port}"))
    broker.start()
    assert broker.log_tail().count("opened 1 logs after a clean stop") == 1


def test_second_process_on_the_same_directory(make_broker):
    broker = make_broker()
    before = listing(broker.directory)
    sentence = complaint(serve("--data", broker.directory, "--listen", FREE_PORT))
    assert "another broker uses the data directory" in sentence
    assert "--data" in sentence
    assert listing(broker.directory) == before
    with connect(broker) as client:
        assert fetch(client, "no-such-topic", {0: 0})[0].error_code != 0, "the first one goes on"


def test_data_path_that_is_a_file(tmp_path: Path):
    path = tmp_path / "data"
    path.write_bytes(b"mine")
    sentence = complaint(serve("--data", path, "--listen", FREE_PORT))
    assert str(path) in sentence
    assert "--data" in sentence
    assert path.read_bytes() == b"mine"


def test_data_path_below_a_file(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"mine")
    sentence = complaint(serve("--data", path / "data", "--listen", FREE_PORT))
    assert str(path / "data") in sentence
    assert path.read_bytes() == b"mine"


def test_data_directory_that_may_only_be_read(make_broker):
    broker = make_broker()
    broker.terminate()
    directory = broker.directory
    before = listing(directory)
    modes = {path: path.stat().st_mode for path in (directory, *directory.rglob("*"))}
    for path, mode in modes.items():
        path.chmod(mode & ~0o222)
    bound = obey_permissions if os.geteuid() == 0 else None
    finished = serve("--data", directory, "--listen", FREE_PORT, before_start=bound)
    for path, mode in modes.items():
        path.chmod(mode)
    sentence = complaint(finished)
    assert str(directory) in sentence
    assert "Permission denied" in sentence
    assert "--data" in sentence
    assert listing(directory) == before


BAD_SETTINGS = {
    "unknown name": ('"log.retention.msx" = 1000', "did you mean log.retention.ms?"),
    "illegal value": ('"num.partitions" = 0', "num.partitions"),
    "value of another kind": ('"num.partitions" = "many"', "num.partitions"),
    "unknown word": ('durability = "sometimes"', "fsync"),
    "bad listener": ('listen = "kafka://127.0.0.1:port"', "expected kafka://127.0.0.1:9092"),
    "unknown scheme": ('listen = "kafak://127.0.0.1:9092"', "did you mean kafka://?"),
    "everybody's address": ('listen = "kafka://0.0.0.0:9092"', "?advertise=HOST:PORT"),
    "remote without consent": ('listen = "kafka://192.0.2.1:9092"', "--allow-remote"),
    "no TOML": ("num.partitions = = 3", "settings.toml"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_config_file_that_is_wrong(case: str, tmp_path: Path):
    content, advice = BAD_SETTINGS[case]
    settings = tmp_path / "settings.toml"
    settings.write_text(content + "\n")
    sentence = complaint(serve("--data", tmp_path / "data", "--config", settings))
    assert advice in sentence
    assert not (tmp_path / "data").exists()


def test_config_file_that_is_not_there(tmp_path: Path):
    path = tmp_path / "settings.toml"
    sentence = complaint(serve("--data", tmp_path / "data", "--config", path))
    assert str(path) in sentence


def test_directory_that_is_not_ours_is_left_alone(tmp_path: Path):
    (tmp_path / "meta.properties").write_text("version=7\n")
    (tmp_path / "notes.txt").write_text("mine")
    before = listing(tmp_path)
    sentence = complaint(serve("--data", tmp_path, "--listen", FREE_PORT))
    assert "meta.properties" in sentence
    after = listing(tmp_path)
    assert {name: after.get(name) for name in before} == before
    assert set(after) - set(before) <= {".lock"}


# --- stops ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_signal_stops_cleanly(number: signal.Signals, tmp_path: Path, make_broker):
    command = [sys.executable, "-m", "headrace", "serve", "--data", str(tmp_path / "data")]
    with subprocess.Popen(
        [*command, "--listen", FREE_PORT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        line = process.stdout.readline()
        assert line.startswith("listening kafka://127.0.0.1:")
        with RawClient(int(line.rsplit(":", 1)[1])) as client:
            produce_to_new_topic(client)
            process.send_signal(number)
            _, errors = process.communicate(timeout=STOP_SECONDS_MAX)
    assert process.returncode == 0
    assert "stopped cleanly" in errors
    assert (tmp_path / "data" / MARKER).exists()
    again = make_broker(directory=tmp_path / "data")
    assert "after a clean stop" in again.log_tail()
    assert "scanned" not in again.log_tail()
    assert not (tmp_path / "data" / MARKER).exists(), "a crash from here on must not look clean"


def produce_to_new_topic(client: RawClient, topic: str = "orders") -> None:
    """Auto-creation is Kafka's default: asking for the topic makes it."""
    from headrace.codecs.kafka.generated.metadata import MetadataRequest, MetadataRequestTopic

    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True
    )

    def is_there() -> bool:
        return client.call(3, 9, request).topics[0].error_code == 0

    wait_until(is_there, "the topic is created", 5.0)
    assert produce(client, topic, {0: batch(b"first")})[0].error_code == 0


def test_stop_with_clients_connected_and_fetches_parked(make_broker):
    broker = make_broker()
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(broker)) for _ in range(20)]
        produce_to_new_topic(clients[0])
        for client in clients[10:]:
            client.send(FETCH, 12, fetch_request("orders", {0: 1}, max_wait_ms=LONG_WAIT_MS))
        half_sent = clients[5].frame(FETCH, 12, fetch_request("orders", {0: 0}))
        clients[5].socket.sendall(half_sent[:9])
        started = time.monotonic()
        assert broker.terminate() == 0
        assert time.monotonic() - started < STOP_SECONDS_MAX
        assert all(client.is_closed_by_peer() for client in clients)
    assert (broker.directory / MARKER).exists()


def test_stop_with_a_reader_that_does_not_read(make_broker):
    broker = make_broker()
    with connect(broker) as client:
        produce_to_new_topic(client)
        value = os.urandom(500_000)
        for _ in range(20):
            assert produce(client, "orders", {0: batch(value)})[0].error_code == 0
        for _ in range(4):
            request = fetch_request("orders", {0: 0}, partition_max_bytes=50_000_000)
            client.send(FETCH, 12, request)
        started = time.monotonic()
        assert broker.terminate() == 0
        assert time.monotonic() - started < STOP_SECONDS_MAX


def test_second_signal_during_the_stop_does_no_harm(make_broker):
    broker = make_broker()
    with connect(broker) as client:
        produce_to_new_topic(client)
        os.kill(broker.pid, signal.SIGINT)
        assert broker.terminate() == 0
    assert (broker.directory / MARKER).exists()
