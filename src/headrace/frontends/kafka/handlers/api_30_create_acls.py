"""CreateAcls (key 30), versions 1-3: v2 flexible · v3 rules on users.

Errors are per rule. A rule that is there already is a success, as in Kafka. The rules hold when the
answer arrives, and would after a loss of power.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.create_acls import AclCreationResult, CreateAclsResponse
from headrace.frontends.kafka.acl_messages import binding_of, known_access
from headrace.frontends.kafka.authorization import raise_if_cluster_refused
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError
from headrace.security.acl import AclBinding, Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.create_acls import AclCreation, CreateAclsRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 30
VERSIONS = (1, 3)


def handle(request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponse | Pending:
    try:
        raise_if_cluster_refused(context, Operation.ALTER)
        access = known_access(context)
        parsed = [_binding_or_error(creation) for creation in request.creations]
        outcomes = iter(access.create([each for each in parsed if isinstance(each, AclBinding)]))
    except HeadraceError as error:
        return CreateAclsResponse(results=[_result(error) for _ in request.creations])
    results = [_result(next(outcomes) if isinstance(each, AclBinding) else each) for each in parsed]
    return answer_when_durable(context, CreateAclsResponse(results=results), results)


def _binding_or_error(creation: AclCreation) -> AclBinding | HeadraceError:
    try:
        return binding_of(creation)
    except HeadraceError as error:
        return error


def _result(outcome: HeadraceError | None) -> AclCreationResult:
    if outcome is None:
        return AclCreationResult(error_message=None)
    return AclCreationResult(error_code(outcome), error_message(outcome))
