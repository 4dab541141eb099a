"""DeleteAcls (key 31), versions 1-3: v2 flexible · v3 rules on users.

Each filter is answered with the rules that it selected; a filter that makes no sense deletes
nothing and does not keep the others from it. A filter that selects nothing is a success.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from headrace.frontends.kafka.acl_messages import filter_of, known_access
from headrace.frontends.kafka.authorization import raise_if_cluster_refused
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError
from headrace.security.acl import AclBinding, AclBindingFilter, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.codecs.kafka.generated.delete_acls import DeleteAclsFilter, DeleteAclsRequest
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 31
VERSIONS = (1, 3)


def handle(request: DeleteAclsRequest, context: RequestContext) -> DeleteAclsResponse | Pending:
    try:
        raise_if_cluster_refused(context, Operation.ALTER)
        access = known_access(context)
        parsed = [_filter_or_error(wanted) for wanted in request.filters]
        deleted = iter(
            access.delete([each for each in parsed if isinstance(each, AclBindingFilter)])
        )
    except HeadraceError as error:
        return DeleteAclsResponse(filter_results=[_refused(error) for _ in request.filters])
    results = [
        _deleted(next(deleted)) if isinstance(each, AclBindingFilter) else _refused(each)
        for each in parsed
    ]
    return answer_when_durable(context, DeleteAclsResponse(filter_results=results), results)


def _filter_or_error(wanted: DeleteAclsFilter) -> AclBindingFilter | HeadraceError:
    try:
        return filter_of(wanted)
    except HeadraceError as error:
        return error


def _refused(error: HeadraceError) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(error_code(error), error_message(error))


def _deleted(bindings: Iterable[AclBinding]) -> DeleteAclsFilterResult:
    return DeleteAclsFilterResult(
        error_message=None,
        matching_acls=[
            DeleteAclsMatchingAcl(
                error_message=None,
                resource_type=binding.resource_type,
                resource_name=binding.resource_name,
                pattern_type=binding.pattern_type,
                principal=str(binding.principal),
                host=binding.host,
                operation=binding.operation,
                permission_type=binding.permission,
            )
            for binding in bindings
        ],
    )
