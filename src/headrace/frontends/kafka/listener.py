"""One Kafka listening socket: accepts connections, counts them, and keeps its limits."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import socket
from typing import TYPE_CHECKING, NamedTuple

from headrace.codecs.kafka.messages import API_NAMES
from headrace.frontends.common.departures import Departures
from headrace.frontends.kafka.admission import Admission
from headrace.frontends.kafka.fetch_sessions import FetchSessions
from headrace.frontends.kafka.frame_buffers import FrameBuffers
from headrace.frontends.kafka.large_frames import LargeFrames
from headrace.frontends.kafka.listener_security import ListenerSecurity
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.frontends.kafka.session import Session
from headrace.frontends.kafka.tls_handshake import TlsHandshake
from headrace.frontends.kafka.turns import Turns
from headrace.model.errors import AddressInUse

if TYPE_CHECKING:
    from headrace.broker.broker import Broker
    from headrace.config.listeners import Listener

log = logging.getLogger(__name__)

RECEIVE_BUFFER_BYTES = 256 * 1024
SWEEP_SECONDS = 5.0
CLOSE_SECONDS_MAX = 2.0
PEER_CLOSED = getattr(select, "POLLRDHUP", select.POLLHUP)


class AdvertisedAddress(NamedTuple):
    """What Metadata tells the clients of this listener to connect to."""

    host: str
    port: int


class KafkaListener:
    """The acceptor, and what its connections share."""

    def __init__(self, broker: Broker, address: Listener) -> None:
        self.broker = broker
        self.address = address
        self.host = address.host
        self.port = address.port
        self.advertised = AdvertisedAddress(*address.advertised(address.port))
        # As the protocol's documents spell it: ListOffsets.
        broker.metrics.api_names.update(
            {key: API_NAMES[key].title().replace("_", "") for key in HANDLERS}
        )
        self.sessions: set[Session] = set()
        self.handshakes: set[TlsHandshake] = set()
        self.admission = Admission(broker)
        self.security = ListenerSecurity(broker, address)
        self.fetch_sessions = FetchSessions(
            broker.config.max_incremental_fetch_session_cache_slots, broker.chance
        )
        self.large_frames = LargeFrames(
            broker.config.queued_max_request_bytes, broker.config.socket_request_max_bytes
        )
        self.frame_buffers = FrameBuffers()
        self.turns = Turns(asyncio.get_running_loop())
        self.departures = Departures(
            asyncio.get_running_loop(), broker.config.loop_spin_us / 1_000_000
        )
        # All connections receive into this buffer in turn; what is no whole frame moves to the
        # session.
        self.receive_buffer = bytearray(RECEIVE_BUFFER_BYTES)
        self.receive_view = memoryview(self.receive_buffer)
        self._emptied: asyncio.Event | None = None
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()

    async def start(self) -> None:
        """Bind and accept."""
        try:
            self._server = await self._loop.create_server(
                self._new_connection,
                self.host,
                self.port,
                backlog=self.broker.config.socket_listen_backlog_size,
                reuse_address=True,
            )
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise AddressInUse(
                f"cannot listen on {self.host}:{self.port}: {reason}; "
                f"stop the other process or choose another port with --listen"
            ) from error
        for listening in self._server.sockets:
            self._set_buffer_sizes(listening)
        self.port = self._server.sockets[0].getsockname()[1]
        self.advertised = AdvertisedAddress(*self.address.advertised(self.port))
        self.security.start()
        self._plan_sweep()

    def _set_buffer_sizes(self, listening: socket.socket) -> None:
        """Connections inherit what the listening socket has."""
        config = self.broker.config
        if config.socket_send_buffer_bytes >= 0:
            size = config.socket_send_buffer_bytes
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
        if config.socket_receive_buffer_bytes >= 0:
            size = config.socket_receive_buffer_bytes
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)

    def _new_connection(self) -> Session | TlsHandshake:
        return Session(self) if self.security.tls is None else TlsHandshake(self)

    def admit(self, session: Session) -> str | None:
        """Take in a new connection; the reason if it must be refused."""
        # One over TLS was counted when its handshake began.
        refusal = self.admission.enter(session.peer_host) if self.security.tls is None else None
        if refusal is None:
            self.sessions.add(session)
        return refusal

    def forget(self, session: Session) -> None:
        """A connection ended."""
        if session not in self.sessions:
            return
        self.sessions.discard(session)
        self.admission.leave(session.peer_host)
        self.left()

    def left(self) -> None:
        """One is gone; whoever waits for the last is told."""
        if not len(self.admission) and self._emptied is not None:
            self._emptied.set()

    def _plan_sweep(self) -> None:
        """Often enough to keep a short time-out, seldom enough to cost nothing."""
        stalled_max = self.broker.config.connection_stalled_timeout_ms / 1000
        self._sweeper = self._loop.call_later(min(SWEEP_SECONDS, stalled_max / 2), self._sweep)

    def _sweep(self) -> None:
        """Cut off peers that are idle too long or do not read their answers, and let go of those
        who left while nothing was read from them."""
        now = self._loop.time()
        idle_max = self.broker.config.connections_max_idle_ms / 1000
        stalled_max = self.broker.config.connection_stalled_timeout_ms / 1000
        for session in list(self.sessions):
            outbox = session.outbox
            if session.is_paused and _has_left(outbox.socket_descriptor):
                session.abort()
            elif outbox.buffered_bytes and now - outbox.stalled_since > stalled_max:
                session.cut_off("stalled", f"took no byte of its answer for {stalled_max:.0f} s")
            elif session.is_trickling(now, stalled_max):
                session.cut_off("stalled", f"a request was not complete after {stalled_max:.0f} s")
            elif now - session.last_active > idle_max and not session.has_pending:
                session.cut_off("idle", "idle longer than connections.max.idle.ms")
        self._plan_sweep()

    async def stop(self) -> None:
        """Close the door, then the rooms."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        if self._server is not None:
            self._server.close()
        self.security.stop()
        self.turns.finish()
        for handshake in list(self.handshakes):
            handshake.stop()
        for session in list(self.sessions):
            session.close()
        if len(self.admission):
            self._emptied = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._emptied.wait(), CLOSE_SECONDS_MAX)
        for session in list(self.sessions):
            session.abort()
        if self._server is not None:
            await self._server.wait_closed()


def _has_left(descriptor: int) -> bool:
    """Whether the peer has closed its side: the loop cannot see it while reading is paused."""
    poller = select.poll()
    poller.register(descriptor, PEER_CLOSED)
    return bool(poller.poll(0))
