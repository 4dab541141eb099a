"""One Kafka connection: requests in, the handler of each, answers out.

Nothing here is a task: a request is handled when its last byte has come, inside the callback that
brought it; a very large one in turns with the other connections. ``incoming`` has the frames,
``outgoing`` the answers. What every request of a kind needs again is kept in ``_known``; all that
can change who asks, or whether he may, empties it, so that it need not be looked at each time.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headrace.codecs.kafka.errors import MalformedMessage
from headrace.codecs.kafka.wire import skip_tagged_fields
from headrace.frontends.common.outbox import Outbox
from headrace.frontends.kafka.context import Pending, RequestContext
from headrace.frontends.kafka.handlers.api_18_api_versions import unsupported_version
from headrace.frontends.kafka.incoming import HEADER_BYTES_MIN, OTHER_FRAME_BYTES_MAX, Incoming
from headrace.frontends.kafka.login import Login
from headrace.frontends.kafka.routes import Route, route_of
from headrace.security.acl import ANONYMOUS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Generator

    from headrace.frontends.common.tls_outbox import TlsOutbox
    from headrace.frontends.kafka.listener import AdvertisedAddress, KafkaListener
    from headrace.security.acl import Principal

_Answer = TypeVar("_Answer")

API_VERSIONS_KEY = 18
_CLIENT_AT = 8

_Known = tuple[
    Route,
    "Callable[[Any, int], tuple[Any, int]]",
    "Callable[[Any, Any], Any]",
    RequestContext,
    "Callable[[float], None]",
]
"""What each request of a kind needs again: route, its decoder and handler, context, histogram."""


class Session(Incoming):
    """The state of one connection."""

    def __init__(self, listener: KafkaListener) -> None:
        super().__init__(listener)
        self._broker = listener.broker
        self.advertised: AdvertisedAddress = listener.advertised
        self.principal: Principal = ANONYMOUS
        self.fetch_sessions = listener.fetch_sessions
        self._known: dict[int, _Known] = {}
        self._client_header: bytes | None = None
        self._client_id: str | None = None
        self.login: Login | None = None
        """None where nobody has to log in."""
        if listener.security.mechanisms is not None:
            self.login = Login(self, listener.security)
            self._limit_frames(listener.security.settings.sasl_server_max_receive_size)

    # --- the loop calls these -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but name
        peer = transport.get_extra_info("peername")
        if peer:
            self.peer_host, self.peer_port = peer[0], peer[1]
        self.outbox = self._make_outbox()
        refusal = self._listener.admit(self)
        if refusal is not None:
            self.cut_off("refused", refusal)

    def _make_outbox(self) -> Outbox | TlsOutbox:
        return Outbox(self._loop, self._transport, self._resume)

    def eof_received(self) -> bool:
        return False  # the transport closes itself

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.outbox.close()
        self._forget_answers()
        self._known.clear()
        self._forget_frames()
        if self.login is not None:
            self.login.close()
        self._listener.forget(self)

    # --- requests -------------------------------------------------------------------------------

    def _request(
        self, frame: memoryview, api_key: int, version: int, correlation_id: int, client_length: int
    ) -> None:
        started = perf_counter()
        position = HEADER_BYTES_MIN + client_length if client_length > 0 else HEADER_BYTES_MIN
        known = self._known.get(api_key << 16 | version)
        if known is None or frame[_CLIENT_AT:position].tobytes() != self._client_header:
            known = self._introduce(frame, api_key, version, correlation_id, client_length)
            if known is None:
                return
        route, decode, handle, context, observe = known
        try:
            if route.header_is_flexible:
                tag_count = frame[position]
                position += 1
                if tag_count:
                    position = skip_tagged_fields(frame, position, tag_count)
            request, _ = decode(frame, position)
        except (MalformedMessage, IndexError) as error:
            self.cut_off("malformed", f"cannot read {route.name} v{version}: {error}")
            return
        try:
            response = handle(request, context)
            if isinstance(response, Pending):
                if not response.is_complete:
                    self._await(route, correlation_id, response)
                    return
                response = response.early  # most have nothing to wait for: they need no place
            if response is not None:
                self._answer(route, correlation_id, response)
        except Exception as error:
            self._fail(route, error)
            return
        observe(perf_counter() - started)

    def _introduce(
        self, frame: memoryview, api_key: int, version: int, correlation_id: int, client_length: int
    ) -> _Known | None:
        """First request of its kind, or of another client id: find out who is to answer it."""
        if self.login is not None and not self.login.permits(api_key):
            expected = self.login.expectation
            self.cut_off("illegal-sasl-state", f"api key {api_key}, but {expected} is expected")
            return None
        route = route_of(api_key, version)
        if route is None:
            self._refuse(api_key, version, correlation_id)
            return None
        client_end = HEADER_BYTES_MIN + max(client_length, 0)
        client_header = frame[_CLIENT_AT:client_end].tobytes()
        if client_header != self._client_header:
            try:
                client_id = client_header[2:].decode() if client_length >= 0 else None
            except UnicodeDecodeError as error:
                self.cut_off("malformed", f"the client id is no text: {error}")
                return None
            self._client_header, self._client_id = client_header, client_id
            self._known.clear()
        context = RequestContext(self, self._broker, api_key, version, self._client_id)
        observe = self._metrics.request_histogram(api_key).observe
        known = (route, route.decode, route.handle, context, observe)
        self._known[api_key << 16 | version] = known
        return known

    def _refuse(self, api_key: int, version: int, correlation_id: int) -> None:
        """Unknown key or version: the end, except that ApiVersions names what we have."""
        if api_key != API_VERSIONS_KEY:
            self.cut_off("unsupported", f"api key {api_key} version {version} is not served")
            return
        route = route_of(API_VERSIONS_KEY, 0)
        assert route is not None
        self._answer(route, correlation_id, unsupported_version())

    # --- requests in turns ----------------------------------------------------------------------

    def in_turns(
        self, work: Generator[None, None, _Answer], context: RequestContext
    ) -> _Answer | Pending:
        """The answer that ``work`` returns. Each time it yields, the other connections come first;
        this one is not listened to before the end."""
        try:
            next(work)
        except StopIteration as end:
            answer: _Answer = end.value
            return answer
        self.hold()
        pending = Pending()
        self._listener.turns.add(lambda: self._take_turn(work, context, pending))
        return pending

    def _take_turn(
        self, work: Generator[None, None, Any], context: RequestContext, pending: Pending
    ) -> bool:
        """Whether there is more to do."""
        try:
            next(work)
            return True
        except StopIteration as end:
            answer = end.value
        except Exception as error:
            route = route_of(context.api_key, context.version)
            assert route is not None
            self._fail(route, error)
            return False
        self._is_busy = False
        self._release_frame()
        if isinstance(answer, Pending):
            answer.attach(pending.complete)
        else:
            pending.complete(answer)
        self._resume()
        return False

    # --- log-in ---------------------------------------------------------------------------------

    def authenticated(self, principal: Principal) -> None:
        """The peer has proved who it is, for the first time or again."""
        self.principal = principal
        self._limit_frames(self._broker.config.socket_request_max_bytes)
        self.reconsider()

    def reconsider(self) -> None:
        """Who asks, or what he may ask for, has changed."""
        self._known.clear()
        assert self.login is not None
        self._takes_bare_tokens = self.login.takes_bare_tokens

    def _limit_frames(self, size_bytes_max: int) -> None:
        self._frame_bytes_max = size_bytes_max
        self._other_bytes_max = min(OTHER_FRAME_BYTES_MAX, size_bytes_max)

    def _bare_token(self, token: bytes) -> None:
        assert self.login is not None, "only a log-in asks for bare tokens"
        self.login.bare_token(token)

    def send_bare(self, token: bytes) -> None:
        """A token without an answer around it."""
        self._outgoing.append(len(token).to_bytes(4, "big") + token)
        self._depart()
