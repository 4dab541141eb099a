"""ApiVersions (key 18), versions 0-4.

v1 throttle time · v3 flexible, client software, features · v4 features from level 0.
The header of the answer is v0 in all versions. A version that we do not know is answered with a
v0 body that names our range for this key (KIP-511), so that the client can try again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.api_versions import ApiVersion, ApiVersionsResponse
from headrace.frontends.kafka.errors import error_code
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.model.errors import InvalidRequest, UnsupportedVersion

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 18
VERSIONS = (0, 4)

CLIENT_SOFTWARE_FROM = 3
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")


def handle(request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    if context.version >= CLIENT_SOFTWARE_FROM:
        for text in (request.client_software_name, request.client_software_version):
            if not _SOFTWARE.match(text):
                return ApiVersionsResponse(error_code(InvalidRequest()))
    return ApiVersionsResponse(0, _served())


def unsupported_version() -> ApiVersionsResponse:
    """The v0 answer to a version that we do not know."""
    return ApiVersionsResponse(
        error_code(UnsupportedVersion()), [ApiVersion(API_KEY, VERSIONS[0], VERSIONS[1])]
    )


def _served() -> list[ApiVersion]:
    return [
        ApiVersion(key, handler.advertised_min, handler.version_max)
        for key, handler in sorted(HANDLERS.items())
    ]
