"""A Kafka connection that is encrypted: the same, but for what it sends by and how it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.frontends.common.tls_outbox import TlsOutbox
from headrace.frontends.kafka.session import Session
from headrace.model.errors import AuthenticationFailed

if TYPE_CHECKING:
    import asyncio

    from headrace.frontends.kafka.listener import KafkaListener


class TlsSession(Session):
    """Begins when the handshake is done."""

    outbox: TlsOutbox

    def __init__(self, listener: KafkaListener) -> None:
        super().__init__(listener)
        self.has_begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.has_begun = True
        super().connection_made(transport)
        if self.login is None:
            self._take_certificate(transport)

    def _take_certificate(self, transport: asyncio.BaseTransport) -> None:
        """Who connects is who the certificate says, unless he has to log in."""
        security = self._listener.security
        try:
            self.principal = security.principal_of(transport.get_extra_info("peercert"))
        except AuthenticationFailed as error:
            self._metrics.authentications_failed += 1
            self.cut_off("tls", error.message)

    def _make_outbox(self) -> TlsOutbox:
        return TlsOutbox(self._loop, self._transport, self._resume, self._outbox_bytes_max)

    def buffer_updated(self, nbytes: int) -> None:
        # A transport that is closing still hands over what it had decrypted.
        if not self.closed:
            super().buffer_updated(nbytes)

    def pause_writing(self) -> None:
        self.outbox.pause_writing()

    def resume_writing(self) -> None:
        self.outbox.resume_writing()
