"""The log-in of one connection: feeds tokens to ``Authentication``, and waits where it must.

A slow check runs in a thread while its connection is held, and nobody else notices. A refusal goes
out after a delay, so that guessing takes time, and then the connection ends. One line in the log
tells of each refusal, without any secret.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.codecs.kafka.generated.sasl_authenticate import SaslAuthenticateResponse
from headrace.codecs.kafka.generated.sasl_handshake import SaslHandshakeResponse
from headrace.frontends.kafka.authentication import Authentication, Phase, Step
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import IllegalSaslState, UnsupportedSaslMechanism
from headrace.security.sasl import invalid_credentials

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from headrace.frontends.kafka.listener_security import ListenerSecurity
    from headrace.frontends.kafka.session import Session
    from headrace.security.sasl import SaslConversation, SaslOutcome

log = logging.getLogger(__name__)


class Login:
    """Of one connection of a listener with SASL."""

    def __init__(self, session: Session, security: ListenerSecurity) -> None:
        assert security.mechanisms is not None
        self._session = session
        self._security = security
        self._mechanisms = security.mechanisms
        settings = security.settings
        self._delay_s = settings.connection_failed_authentication_delay_ms / 1000
        self._authentication = Authentication(self._mechanisms, settings.connections_max_reauth_ms)
        self._timer: asyncio.TimerHandle | None = None
        """Ends the log-in, or the connection after a refusal: never both."""

    def permits(self, api_key: int) -> bool:
        """Whether a request of this kind is served now."""
        return self._authentication.permits(api_key)

    @property
    def expectation(self) -> str:
        """What is served now, in words."""
        return self._authentication.phase.value

    @property
    def takes_bare_tokens(self) -> bool:
        return self._authentication.phase is Phase.BARE_TOKENS

    def handshake(self, mechanism: str, version: int) -> SaslHandshakeResponse | Pending:
        """The answer to SaslHandshake."""
        response = SaslHandshakeResponse(mechanisms=list(self._mechanisms.enabled))
        try:
            self._authentication.choose(mechanism, version)
        except IllegalSaslState as error:
            return SaslHandshakeResponse(error_code(error))
        except UnsupportedSaslMechanism as error:
            response.error_code = error_code(error)
            return self._refuse(response, error.message)
        self._session.reconsider()
        return response

    def authenticate(self, token: bytes) -> SaslAuthenticateResponse | Pending:
        """The answer to SaslAuthenticate."""
        try:
            conversation = self._authentication.conversation
        except IllegalSaslState as error:
            return SaslAuthenticateResponse(error_code(error), error.message)
        if not self._mechanisms.is_slow(self._authentication.mechanism):
            return self._respond(self._take(conversation.receive(token, self._now_ms())))
        pending = Pending()

        def received(outcome: SaslOutcome) -> None:
            answer = self._respond(self._take(outcome))
            if isinstance(answer, Pending):
                answer.attach(pending.complete)
            else:
                pending.complete(answer)
                self._session.go_on()

        self._receive_in_thread(conversation, token, received)
        return pending

    def bare_token(self, token: bytes) -> None:
        """A token without a request around it; its answer is bare as well."""
        conversation = self._authentication.conversation
        if self._mechanisms.is_slow(self._authentication.mechanism):
            self._receive_in_thread(conversation, token, self._received_bare)
        else:
            self._received_bare(conversation.receive(token, self._now_ms()))

    def _received_bare(self, outcome: SaslOutcome) -> None:
        step = self._take(outcome)
        if step.error is not None:
            # There is no place for an error between bare tokens: the end must do.
            self._refuse(None, step.reason)
            return
        self._session.send_bare(step.answer)
        self._session.go_on()

    def _take(self, outcome: SaslOutcome) -> Step:
        step = self._authentication.conclude(outcome, self._now_ms())
        if step.principal is not None:
            self._session.authenticated(step.principal)
            self._plan_expiry(step)
        return step

    def _respond(self, step: Step) -> SaslAuthenticateResponse | Pending:
        if step.error is not None:
            response = SaslAuthenticateResponse(
                error_code(step.error), error_message(step.error), step.answer
            )
            return self._refuse(response, step.reason)
        lifetime_ms = step.lifetime.lifetime_ms
        return SaslAuthenticateResponse(0, None, step.answer, lifetime_ms)

    def _refuse(self, response: Any, reason: str) -> Pending:
        """Answer after the delay, and end the connection."""
        session = self._session
        self._report(reason)
        session.reconsider()
        session.hold()
        pending = Pending()

        def end() -> None:
            pending.complete(response)
            session.close()

        self._cancel_timer()
        self._timer = self._security.loop.call_later(self._delay_s, end)
        return pending

    def _report(self, reason: str) -> None:
        security, host = self._security, self._session.peer_host
        security.metrics.authentications_failed += 1
        mechanism = self._authentication.mechanism or "none"
        kind = f"{host} {mechanism} {reason}"
        left_out = security.warnings.maybe_count(kind, security.loop.time())
        if left_out is not None:
            more = f" ({left_out} more like this were not told)" if left_out else ""
            text = "authentication failed peer=%s:%d listener=%s mechanism=%s: %s%s"
            listener_name, port = security.listener_name, self._session.peer_port
            log.warning(text, host, port, listener_name, mechanism, reason, more)

    def _plan_expiry(self, step: Step) -> None:
        self._cancel_timer()
        if step.lifetime.expires_at_ms is not None:
            delay_s = step.lifetime.lifetime_ms / 1000
            self._timer = self._security.loop.call_later(delay_s, self._expire)

    def _expire(self) -> None:
        self._authentication.expire()
        self._session.reconsider()

    def _receive_in_thread(
        self, conversation: SaslConversation, token: bytes, received: Callable[[SaslOutcome], None]
    ) -> None:
        self._session.hold()
        mechanism, now_ms = self._authentication.mechanism, self._now_ms()

        def done(future: asyncio.Future[SaslOutcome]) -> None:
            if self._session.closed or future.cancelled():
                return
            error = future.exception()
            if error is None:
                received(future.result())
            else:
                log.error("a password could not be checked", exc_info=error)
                received(invalid_credentials(mechanism, "internal error"))

        work = self._security.run_in_thread(lambda: conversation.receive(token, now_ms))
        work.add_done_callback(done)

    def _now_ms(self) -> int:
        return self._security.clock.now_ms()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """The connection is gone."""
        self._cancel_timer()
