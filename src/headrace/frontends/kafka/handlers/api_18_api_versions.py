"""ApiVersions (key 18), versions 0-4.

v1 throttle time · v3 flexible, client software, features · v4 features from level 0.
The header of the answer is v0 in all versions. A version that we do not know is answered with a
v0 body that names our range for this key (KIP-511), so that the client can try again.

By the level of ``transaction.version`` clients choose the protocol of their transactions (KIP-890).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from headrace.frontends.kafka.errors import error_code
from headrace.frontends.kafka.served_apis import HANDLERS
from headrace.model.errors import InvalidRequest, UnsupportedVersion

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 18
VERSIONS = (0, 4)

CLIENT_SOFTWARE_FROM = 3
FEATURES_FROM = 3
FEATURES_FROM_LEVEL_0_FROM = 4
"""Older clients take a level of 0 for a fault (KAFKA-17492)."""
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")


def handle(request: ApiVersionsRequest, context: RequestContext) -> ApiVersionsResponse:
    if context.version >= CLIENT_SOFTWARE_FROM:
        for text in (request.client_software_name, request.client_software_version):
            if not _SOFTWARE.match(text):
                return ApiVersionsResponse(error_code(InvalidRequest()))
    response = ApiVersionsResponse(0, _served())
    if context.version >= FEATURES_FROM:
        _tell_features(response, context)
    return response


def _tell_features(response: ApiVersionsResponse, context: RequestContext) -> None:
    features = context.broker.features
    level_min = 0 if context.version >= FEATURES_FROM_LEVEL_0_FROM else 1
    response.supported_features = [
        SupportedFeatureKey(name, levels.minimum, levels.maximum)
        for name, levels in features.supported.items()
        if levels.minimum >= level_min
    ]
    response.finalized_features_epoch = features.epoch
    response.finalized_features = [
        FinalizedFeatureKey(name, level, level)
        for name, level in features.finalized().items()
        if level > 0
    ]


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
