"""FindCoordinator (key 10), versions 0-6.

v1 key types, error message · v3 flexible · v4 several keys · v6 share groups (not served).

One node coordinates everything, so the answer is this listener's own address. Asking for a group
or a transactional id makes the topic that they live in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.find_coordinator import (
    Coordinator,
    FindCoordinatorResponse,
)
from headrace.frontends.kafka.authorization import (
    raise_if_group_refused,
    raise_if_transactional_id_refused,
)
from headrace.frontends.kafka.errors import NONE, error_code, error_message
from headrace.model.errors import HeadraceError, InvalidRequest
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.find_coordinator import FindCoordinatorRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 10
VERSIONS = (0, 6)

SEVERAL_KEYS_FROM = 4
GROUP, TRANSACTION = 0, 1
NO_NODE, NO_PORT = -1, -1


def handle(request: FindCoordinatorRequest, context: RequestContext) -> FindCoordinatorResponse:
    if context.version >= SEVERAL_KEYS_FROM:
        found = [_find(key, request.key_type, context) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)
    one = _find(request.key, request.key_type, context)
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def _find(key: str, key_type: int, context: RequestContext) -> Coordinator:
    try:
        if key_type == GROUP:
            raise_if_group_refused(context, Operation.DESCRIBE, key)
            context.broker.groups.prepare(key)
        elif key_type == TRANSACTION:
            raise_if_transactional_id_refused(context, Operation.DESCRIBE, key)
            context.broker.transactions.prepare(key)
        else:
            raise InvalidRequest(f"coordinators of type {key_type} are not served")
    except HeadraceError as error:
        return Coordinator(key, NO_NODE, "", NO_PORT, error_code(error), error_message(error))
    listener = context.listener
    return Coordinator(
        key, context.broker.cluster.node_id, listener.host, listener.port, NONE, None
    )
