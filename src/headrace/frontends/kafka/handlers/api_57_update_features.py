"""UpdateFeatures (key 57), versions 0-2 (KIP-584, KIP-778).

v0 says only whether a downgrade is allowed · v1 kind of update, validation alone · v2 no results
per feature. All updates happen or none: one that is refused fails the request as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesResponse,
)
from headrace.coordination.metadata.features import FeatureUpdate, UpdateKind
from headrace.frontends.kafka.authorization import raise_if_cluster_refused
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError, InvalidFeatureLevel
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.update_features import (
        FeatureUpdateKey,
        UpdateFeaturesRequest,
    )
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 57
VERSIONS = (0, 2)

KINDS_FROM = 1
RESULTS_UNTIL = 1


def handle(
    request: UpdateFeaturesRequest, context: RequestContext
) -> UpdateFeaturesResponse | Pending:
    try:
        raise_if_cluster_refused(context, Operation.ALTER)
        updates = [_update(wanted, context.version) for wanted in request.feature_updates]
        context.broker.features.update(updates, validate_only=request.validate_only)
    except HeadraceError as error:
        return UpdateFeaturesResponse(
            error_code=error_code(error), error_message=error_message(error)
        )
    response = UpdateFeaturesResponse(error_message=None)
    if context.version <= RESULTS_UNTIL:
        response.results = [
            UpdatableFeatureResult(update.name, error_message=None) for update in updates
        ]
    if request.validate_only:
        return response
    return answer_when_durable(context, response, [response, *response.results])


def _update(wanted: FeatureUpdateKey, version: int) -> FeatureUpdate:
    name, level = wanted.feature, wanted.max_version_level
    if version < KINDS_FROM:
        kind = UpdateKind.SAFE_DOWNGRADE if wanted.allow_downgrade else UpdateKind.UPGRADE
        return FeatureUpdate(name, level, kind)
    try:
        return FeatureUpdate(name, level, UpdateKind(wanted.upgrade_type))
    except ValueError:
        raise InvalidFeatureLevel(
            f"{name} cannot be set to {level}: unknown kind of update {wanted.upgrade_type}"
        ) from None
