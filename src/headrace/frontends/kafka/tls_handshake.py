"""A connection that is not encrypted yet: counts from the start, and ends here if TLS fails.

The loop's own TLS server does not say when a handshake fails. So the connection is accepted in
plain, and before a byte is read it is given to the loop again, to begin TLS on it. A descriptor of
our own outlives the loop's, to tell a client that is refused why: by TLS's alert. Each failure is
also one line in the log that says what to change, without a stack trace; who fails again and again
is told of now and then, and whoever only knocks (a port check) is not worth a line.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from typing import TYPE_CHECKING, cast

from headrace.frontends.common.tls_farewell import send_alert
from headrace.frontends.kafka.tls_session import TlsSession
from headrace.security.tls_refusal import HandshakeRefused

if TYPE_CHECKING:
    from headrace.frontends.kafka.listener import KafkaListener

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS_MAX = 2.0

_NOT_TLS = "the client does not speak TLS: set its security.protocol to SSL or SASL_SSL"
_DISTRUSTED = (
    "the client does not trust our certificate: give it the authority, ssl.ca.location or"
    " ssl.truststore.location, and check that the certificate has the name it connects to"
)
_TOO_OLD = "client and broker have no version of TLS in common: see ssl.enabled.protocols"
_HINTS = {
    "HTTP_REQUEST": _NOT_TLS,
    "WRONG_VERSION_NUMBER": _NOT_TLS,
    "UNKNOWN_PROTOCOL": _NOT_TLS,
    "RECORD_LAYER_FAILURE": _NOT_TLS,
    "PACKET_LENGTH_TOO_LONG": _NOT_TLS,
    "BAD_RECORD_TYPE": _NOT_TLS,
    "TLSV1_ALERT_UNKNOWN_CA": _DISTRUSTED,
    "SSLV3_ALERT_BAD_CERTIFICATE": _DISTRUSTED,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _DISTRUSTED,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": _DISTRUSTED,
    "UNSUPPORTED_PROTOCOL": _TOO_OLD,
    "VERSION_TOO_LOW": _TOO_OLD,
    "TLSV1_ALERT_PROTOCOL_VERSION": _TOO_OLD,
    "NO_SHARED_CIPHER": "client and broker have no cipher in common",
    "CERTIFICATE_VERIFY_FAILED": (
        "the client's certificate does not come from an authority in ssl.truststore.location,"
        " or has expired"
    ),
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": (
        "the client shows no certificate, and ssl.client.auth is required"
    ),
}


def explain(error: Exception) -> str:
    """What went wrong with a handshake, and what to change."""
    if isinstance(error, HandshakeRefused):
        error = error.cause
    if isinstance(error, ssl.SSLError):
        reason = error.reason or str(error)
        hint = _HINTS.get(reason)
        if isinstance(error, ssl.SSLCertVerificationError):
            reason = f"{reason}: {error.verify_message}"
        return f"{hint} ({reason})" if hint else reason
    return str(error) or type(error).__name__


class TlsHandshake(asyncio.Protocol):
    """Until the handshake is done; then a ``TlsSession`` takes over."""

    def __init__(self, listener: KafkaListener) -> None:
        self._listener = listener
        self._peer = ("?", 0)
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer = transport.get_extra_info("peername")
        if peer:
            self._peer = (peer[0], peer[1])
        refusal = self._listener.admission.enter(self._peer[0])
        if refusal is None:
            self._begin(transport)
        else:
            self._warn("refused", refusal)
        # Nothing has been read yet. Our own descriptor of the connection outlives this one.
        cast("asyncio.Transport", transport).abort()

    def _begin(self, transport: asyncio.BaseTransport) -> None:
        try:
            ours, lent = _duplicates(transport)
        except OSError as error:  # no descriptor is left
            self._leave()
            self._warn("refused", error.strerror or str(error))
            return
        self._listener.handshakes.add(self)
        session = TlsSession(self._listener)
        shaking = self._shake_hands(session, ours, lent)
        self._task = self._listener.security.loop.create_task(shaking)
        # Not in the task: one that is stopped before its first step would never get there.
        self._task.add_done_callback(lambda _: self._end(session, ours, lent))

    def stop(self) -> None:
        """Give it up; the connection is closed."""
        if self._task is not None:
            self._task.cancel()

    async def _shake_hands(
        self, session: TlsSession, ours: socket.socket, lent: socket.socket
    ) -> None:
        security = self._listener.security
        assert security.tls is not None
        try:
            await security.loop.connect_accepted_socket(
                lambda: session,
                lent,
                ssl=security.tls.context,
                ssl_handshake_timeout=security.settings.ssl_handshake_timeout_ms / 1000,
                ssl_shutdown_timeout=SHUTDOWN_SECONDS_MAX,
            )
        except OSError as error:
            self._report(error)
            if isinstance(error, HandshakeRefused) and error.alert:
                await self._tell(ours, error.alert)
        except Exception:
            log.exception("a TLS handshake failed for a fault of ours")

    def _end(self, session: TlsSession, ours: socket.socket, lent: socket.socket) -> None:
        self._listener.handshakes.discard(self)
        ours.close()
        if not session.has_begun:
            lent.close()
            self._leave()

    async def _tell(self, ours: socket.socket, alert: bytes) -> None:
        try:
            await send_alert(self._listener.security.loop, ours, alert)
        except OSError as error:
            log.debug("the client at %s:%d did not wait for its alert: %s", *self._peer, error)

    def _report(self, error: OSError) -> None:
        if isinstance(error, ConnectionResetError | BrokenPipeError | ssl.SSLEOFError):
            log.debug("the client at %s:%d left during the TLS handshake", *self._peer)
            return
        self._listener.broker.metrics.authentications_failed += 1
        self._warn("tls", explain(error))

    def _warn(self, reason: str, detail: str) -> None:
        host, port = self._peer
        now = self._listener.security.loop.time()
        left_out = self._listener.security.warnings.maybe_count(f"{host} {detail}", now)
        if left_out is not None:
            more = f" ({left_out} more like this were not told)" if left_out else ""
            text = "connection closed peer=%s:%d reason=%s: %s%s"
            log.warning(text, host, port, reason, detail, more)

    def _leave(self) -> None:
        self._listener.admission.leave(self._peer[0])
        self._listener.left()


def _duplicates(transport: asyncio.BaseTransport) -> tuple[socket.socket, socket.socket]:
    """Of a connection: one for us, one for the loop to take. OSError if no descriptor is left."""
    ours = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
    try:
        ours.setblocking(False)
        return ours, ours.dup()
    except OSError:
        ours.close()
        raise
