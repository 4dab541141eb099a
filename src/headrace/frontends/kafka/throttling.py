"""Where quotas meet requests: what a handler did is counted, what is owed goes into its answer.

As KIP-219 says: the answer leaves at once and tells the client how long to wait; then nothing is
read from its connection for so long, whether it obeys or not. Handlers that have a quota of their
own (fetch, creating and deleting topics) put their time into ``throttle_time_ms`` and leave the
rest to ``metered``, which every handler is wrapped in.
"""

from __future__ import annotations

from copy import copy
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.broker.quotas import UNLIMITED_MUTATIONS, WELCOME, Client
from headrace.codecs.kafka.produce_success import with_throttle_time
from headrace.frontends.kafka.context import Pending

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from headrace.broker.fetch import FetchResult
    from headrace.broker.quotas import FetchVerdict, Mutations
    from headrace.frontends.kafka.context import RequestContext

PRODUCE_KEY, SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY = 0, 17, 36
EXEMPT_KEYS = frozenset({SASL_HANDSHAKE_KEY, SASL_AUTHENTICATE_KEY})
"""Who is asking is not known yet."""
ACKS_NONE = 0

Answer = TypeVar("Answer")


def metered(api_key: int, handle: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The handler with its counter; while no quota is set, that is one look at a flag."""
    if api_key in EXEMPT_KEYS:
        return handle

    def handle_metered(request: Any, context: RequestContext) -> Any:
        if not context.broker.quotas.is_active:
            return handle(request, context)
        return _handle_and_count(handle, request, context)

    return handle_metered


def client_of(context: RequestContext) -> Client:
    return Client(context.principal.name, context.client_id or "")


# --- for handlers with a quota of their own -----------------------------------------------------


def fetch_bytes_max(wanted_bytes: int, context: RequestContext) -> int:
    """Not more than the client's quota could ever let pass."""
    quotas = context.broker.quotas
    if not quotas.is_active:
        return wanted_bytes
    return min(wanted_bytes, quotas.fetch_bytes_max(client_of(context)))


def count_fetched(result: FetchResult, context: RequestContext) -> FetchVerdict:
    """Count the records that are about to be sent."""
    quotas = context.broker.quotas
    if not quotas.is_active:
        return WELCOME
    size_bytes = sum(len(each.records) for each in result.partitions if each.records is not None)
    return quotas.count_fetched(client_of(context), size_bytes)


def mutations_of(context: RequestContext, strict_from: int) -> Mutations:
    """From version ``strict_from`` on the client understands THROTTLING_QUOTA_EXCEEDED."""
    quotas = context.broker.quotas
    if not quotas.is_active:
        return UNLIMITED_MUTATIONS
    return quotas.mutations(client_of(context), is_strict=context.version >= strict_from)


def note_time(started: float, context: RequestContext) -> None:
    """What the broker did for a request after its handler had returned; the next one pays."""
    quotas = context.broker.quotas
    if quotas.is_active:
        quotas.note_request(client_of(context), perf_counter() - started)


def timed_turns(
    work: Generator[None, None, Answer], context: RequestContext
) -> Generator[None, None, Answer]:
    """The same work with ``note_time`` for each turn; the first is counted with the handler."""
    return _timed(work, context) if context.broker.quotas.is_active else work


def _timed(
    work: Generator[None, None, Answer], context: RequestContext
) -> Generator[None, None, Answer]:
    started: float | None = None
    while True:
        try:
            next(work)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        finally:
            if started is not None:
                note_time(started, context)
        yield
        started = perf_counter()


# --- for all ------------------------------------------------------------------------------------


def _handle_and_count(
    handle: Callable[[Any, Any], Any], request: Any, context: RequestContext
) -> Any:
    started = perf_counter()
    answer = handle(request, context)
    quotas, client = context.broker.quotas, client_of(context)
    throttle_ms = 0
    if context.api_key == PRODUCE_KEY:
        throttle_ms = quotas.count_produced(client, _produced_bytes(request))
    if context.api_key != PRODUCE_KEY or request.acks != ACKS_NONE:
        throttle_ms = max(throttle_ms, quotas.count_request(client, perf_counter() - started))
    if isinstance(answer, Pending):
        return _later(answer, context, throttle_ms)
    return _throttled(answer, context, throttle_ms)


def _produced_bytes(request: Any) -> int:
    return sum(
        len(data.records or b"") for topic in request.topic_data for data in topic.partition_data
    )


def _later(inner: Pending, context: RequestContext, throttle_ms: int) -> Pending:
    outer = Pending(on_close=inner.connection_closed)
    inner.attach(lambda answer: outer.complete(_throttled(answer, context, throttle_ms)))
    return outer


def _throttled(answer: Any, context: RequestContext, throttle_ms: int) -> Any:
    told_ms = getattr(answer, "throttle_time_ms", 0)
    longest_ms: int = max(told_ms, throttle_ms)
    if not longest_ms:
        return answer
    context.session.mute(longest_ms)
    if isinstance(answer, bytes):
        assert context.api_key == PRODUCE_KEY, "only Produce encodes its answer itself"
        return with_throttle_time(answer, longest_ms)
    if longest_ms != told_ms and hasattr(answer, "throttle_time_ms"):
        answer = copy(answer)  # it may be one that others are given as well
        answer.throttle_time_ms = longest_ms
    return answer
