"""DescribeUserScramCredentials (key 50), version 0 (KIP-554).

Mechanisms and iterations only: no salt and no key ever leaves the broker. No users, or null, means
all of them. Errors are per user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import NONE, error_code, error_message
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.broker.credentials import DescribedCredential
    from headrace.codecs.kafka.generated.describe_user_scram_credentials import (
        DescribeUserScramCredentialsRequest,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 50
VERSIONS = (0, 0)


def handle(
    request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> DescribeUserScramCredentialsResponse:
    refusal = maybe_cluster_refusal(context, Operation.DESCRIBE)
    if refusal is not None:
        return DescribeUserScramCredentialsResponse(
            error_code=error_code(refusal), error_message=error_message(refusal)
        )
    users = None if request.users is None else [user.name for user in request.users]
    described = context.broker.credentials.describe(users)
    return DescribeUserScramCredentialsResponse(
        error_message=None, results=[_result(*each) for each in described.items()]
    )


def _result(
    user: str, found: list[DescribedCredential] | HeadraceError
) -> DescribeUserScramCredentialsResult:
    if isinstance(found, HeadraceError):
        return DescribeUserScramCredentialsResult(user, error_code(found), error_message(found))
    return DescribeUserScramCredentialsResult(
        user, NONE, None, [CredentialInfo(*credential) for credential in found]
    )
