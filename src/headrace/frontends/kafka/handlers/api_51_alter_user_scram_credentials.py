"""AlterUserScramCredentials (key 51), version 0 (KIP-554).

The client salts the password and sends the result; only the two keys derived from it are kept.
One answer per user: all of a user's changes happen, or none. Nothing of a credential is logged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.alter_user_scram_credentials import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from headrace.coordination.metadata.credentials import CredentialDeletion, CredentialUpsertion
from headrace.frontends.kafka.authorization import raise_if_cluster_refused
from headrace.frontends.kafka.durable_answer import answer_when_durable
from headrace.frontends.kafka.errors import error_code, error_message
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.alter_user_scram_credentials import (
        AlterUserScramCredentialsRequest,
    )
    from headrace.coordination.metadata.credentials import CredentialChange
    from headrace.frontends.kafka.context import Pending, RequestContext

API_KEY = 51
VERSIONS = (0, 0)


def handle(
    request: AlterUserScramCredentialsRequest, context: RequestContext
) -> AlterUserScramCredentialsResponse | Pending:
    changes = _changes(request)
    try:
        raise_if_cluster_refused(context, Operation.ALTER)
        outcomes = context.broker.credentials.alter(changes)
    except HeadraceError as error:
        users = dict.fromkeys(change.user for change in changes)
        return AlterUserScramCredentialsResponse(results=[_result(user, error) for user in users])
    results = [_result(user, outcome) for user, outcome in outcomes.items()]
    return answer_when_durable(context, AlterUserScramCredentialsResponse(results=results), results)


def _changes(request: AlterUserScramCredentialsRequest) -> list[CredentialChange]:
    changes: list[CredentialChange] = [
        CredentialDeletion(each.name, each.mechanism) for each in request.deletions
    ]
    changes += (
        CredentialUpsertion(
            user=each.name,
            mechanism=each.mechanism,
            iterations=each.iterations,
            salt=bytes(each.salt),
            salted_password=bytes(each.salted_password),
        )
        for each in request.upsertions
    )
    return changes


def _result(user: str, outcome: HeadraceError | None) -> AlterUserScramCredentialsResult:
    if outcome is None:
        return AlterUserScramCredentialsResult(user, error_message=None)
    return AlterUserScramCredentialsResult(user, error_code(outcome), error_message(outcome))
