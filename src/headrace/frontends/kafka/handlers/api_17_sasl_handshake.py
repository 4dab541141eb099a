"""SaslHandshake (key 17), versions 0-1: the client chooses a way to log in.

After v0 the tokens follow without requests around them; after v1 they come in SaslAuthenticate.
A mechanism that is not enabled is answered with those that are, and ends the connection. Where
nobody has to log in, the state does not allow it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.sasl_handshake import SaslHandshakeResponse
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import IllegalSaslState

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.sasl_handshake import SaslHandshakeRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 17
VERSIONS = (0, 1)


def handle(
    request: SaslHandshakeRequest, context: RequestContext
) -> SaslHandshakeResponse | Pending:
    login = context.session.login
    if login is None:
        return SaslHandshakeResponse(error_code(IllegalSaslState()))
    return login.handshake(request.mechanism, context.version)
