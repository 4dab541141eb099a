"""DescribeAcls (key 29), versions 1-3: v2 flexible · v3 rules on users.

Rules come out by the resources that they are about, in the order of their creation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_acls import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from headrace.frontends.kafka.acl_messages import filter_of, known_access
from headrace.frontends.kafka.authorization import raise_if_cluster_refused
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.codecs.kafka.generated.describe_acls import DescribeAclsRequest
    from headrace.frontends.kafka.context import RequestContext
    from headrace.security.acl import AclBinding

API_KEY = 29
VERSIONS = (1, 3)


def handle(request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    try:
        raise_if_cluster_refused(context, Operation.DESCRIBE)
        found = known_access(context).matching(filter_of(request))
    except HeadraceError as error:
        return DescribeAclsResponse(
            error_code=error_code(error), error_message=error_message(error)
        )
    return DescribeAclsResponse(error_message=None, resources=_by_resource(found))


def _by_resource(bindings: Iterable[AclBinding]) -> list[DescribeAclsResource]:
    resources: dict[tuple[int, str, int], list[AclDescription]] = {}
    for binding in bindings:
        key = (binding.resource_type, binding.resource_name, binding.pattern_type)
        resources.setdefault(key, []).append(
            AclDescription(
                str(binding.principal), binding.host, binding.operation, binding.permission
            )
        )
    return [DescribeAclsResource(*key, rules) for key, rules in resources.items()]
