"""A real broker inside the test process, on a free port over a temporary directory.

    from headrace.testing import Broker

    with Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

It runs in a thread of its own with its own event loop; several can run at once. Leaving the block
stops it and removes its thread, its sockets and its files.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from typing import TYPE_CHECKING, TypeVar

import uvloop

from headrace.config.serve import ServeSettings
from headrace.coordination.metadata.topics import NewTopic
from headrace.model.errors import InternalError
from headrace.server.launcher import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 30.0

PLAIN_LISTENER = "kafka://127.0.0.1:0"
HTTP_LISTENER = "http://127.0.0.1:0"

DEFAULT_SETTINGS = {
    # A test that starts one consumer must not wait for a second one.
    "group.initial.rebalance.delay.ms": "0",
    # The test shares the interpreter with this broker: to wait awake would slow both.
    "headrace.loop.spin.us": "0",
}

T = TypeVar("T")


class Broker:
    """A broker for tests.

    ``settings`` are broker settings by Kafka's names, for example ``{"num.partitions": "3"}``.
    With ``directory`` the data stays there after the end, so that a test can start a second broker
    over it. With ``http`` there are metrics, health and schema registry at ``http_url``.
    ``listeners`` are URLs as for ``headrace serve --listen``, ``kafka+sasl://127.0.0.1:0`` for
    example; see ``port_of``.
    """

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        directory: str | None = None,
        http: bool = False,
        listeners: Sequence[str] = (PLAIN_LISTENER,),
    ) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._given_directory = directory
        self._options = {
            **DEFAULT_SETTINGS,
            **(settings or {}),
            "listen": ",".join([*listeners, HTTP_LISTENER] if http else listeners),
        }
        self._settings = self._resolve(directory or ".")  # wrong ones are refused here already
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    def _resolve(self, directory: str) -> ServeSettings:
        return ServeSettings.resolve({**self._options, "data": directory})

    def start(self) -> Broker:
        """Start, and return when clients can connect."""
        directory = self._given_directory
        if directory is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="headrace-")
            directory = self._temporary.name
        self._settings = self._resolve(directory)
        self._ready.clear()
        self._thread = threading.Thread(target=self._run, name="headrace-broker", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_SECONDS_MAX):
            raise InternalError(f"the broker was not ready after {START_SECONDS_MAX:.0f} s")
        if self._failure is not None:
            self.stop()
        return self

    def stop(self) -> None:
        """Stop cleanly; does nothing if it is not running."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._loop is not None and self._stop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stop.set)
        thread.join(STOP_SECONDS_MAX)
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            temporary.cleanup()
        if thread.is_alive():
            raise InternalError(f"the broker did not stop within {STOP_SECONDS_MAX:.0f} s")
        if self._failure is not None:
            raise self._failure

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def directory(self) -> str:
        """Where the data is, while it runs; afterwards it is there only if it was given."""
        return self._settings.data_directory

    @property
    def port(self) -> int:
        assert self._server is not None, "the broker is not running"
        return self._server.port_of("kafka")

    def port_of(self, kind: str) -> int:
        """Of the first listener with this name or scheme: ``sasl_ssl``, ``kafka+ssl``."""
        assert self._server is not None, "the broker is not running"
        return self._server.port_of(kind)

    @property
    def bootstrap_servers(self) -> str:
        """What clients call ``bootstrap.servers``."""
        return f"127.0.0.1:{self.port}"

    @property
    def http_url(self) -> str:
        """Where ``/metrics`` and ``/health`` are, and the schema registry."""
        assert self._server is not None, "the broker is not running"
        return f"http://127.0.0.1:{self._server.port_of('http')}"

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic without any client; returns its name."""
        self.call(
            lambda server: server.broker.topic_changes.create(
                NewTopic(name, partitions, 1, dict(config or {}))
            )
        )
        return name

    def call(self, work: Callable[[Server], T]) -> T:
        """Run ``work`` on the broker's own thread, the only one that may touch its state."""
        server, loop = self._server, self._loop
        assert server is not None, "the broker is not running"
        assert loop is not None, "the broker is not running"

        async def run() -> T:
            return work(server)

        return asyncio.run_coroutine_threadsafe(run(), loop).result(START_SECONDS_MAX)

    def _run(self) -> None:
        self._failure = None
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = Server(self._settings)
        try:
            await server.start()
            self._server = server
            self._ready.set()
            await self._stop.wait()
        finally:
            await server.stop()
