"""A server's context whose failed handshakes say what the client is to be told: OpenSSL's alert.

An event loop forgets what waits to be sent when a handshake fails, the alert with it, and the
client learns nothing but that the connection has ended. So the error carries the alert to whoever
still has the connection.
"""

from __future__ import annotations

import ssl


class HandshakeRefused(ssl.SSLError):
    """A handshake that failed on our side."""

    def __init__(self, cause: ssl.SSLError, alert: bytes) -> None:
        super().__init__(*cause.args)
        self.cause = cause
        self.alert = alert
        """Encrypted as it must be sent; empty where there is nothing to tell, above all if it was
        the client that refused."""


_NOT_REFUSED = (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLSyscallError, ssl.SSLEOFError)
"""The handshake goes on, or the client has left."""


class _TellingObject(ssl.SSLObject):
    """One connection's TLS."""

    outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        try:
            super().do_handshake()
        except _NOT_REFUSED:
            raise
        except ssl.SSLError as error:
            raise HandshakeRefused(error, self.outgoing.read()) from error


class TellingContext(ssl.SSLContext):
    """Raises ``HandshakeRefused``. Only for connections by ``wrap_bio``, as loops make them."""

    sslobject_class = _TellingObject

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        wrapped = super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        assert isinstance(wrapped, _TellingObject)
        wrapped.outgoing = outgoing
        return wrapped
