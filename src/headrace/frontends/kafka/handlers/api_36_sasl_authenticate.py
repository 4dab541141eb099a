"""SaslAuthenticate (key 36), versions 0-2: one token of a log-in, and what it led to.

v1 how long the log-in holds (KIP-368) · v2 flexible. A refusal is answered after a delay and ends
the connection. It says the same for a wrong name, a wrong password and a token of nonsense.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.sasl_authenticate import SaslAuthenticateResponse
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import IllegalSaslState

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.sasl_authenticate import SaslAuthenticateRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 36
VERSIONS = (0, 2)


def handle(
    request: SaslAuthenticateRequest, context: RequestContext
) -> SaslAuthenticateResponse | Pending:
    login = context.session.login
    if login is None:
        error = IllegalSaslState("nobody has to log in on this listener")
        return SaslAuthenticateResponse(error_code(error), error.message)
    return login.authenticate(request.auth_bytes)
