"""Decisions about SCRAM credentials: what a request to change them writes, user by user.

All changes of a user happen, or none. Of the salted password only the two derived keys are written.
Several mechanisms of a user can change in one request, as KIP-554 says; Kafka 4.3 refuses that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.metadata.records import (
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from headrace.model.errors import (
    DuplicateResource,
    HeadraceError,
    LimitReached,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from headrace.security.scram_credential import ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.coordination.metadata.access_state import AccessState
    from headrace.coordination.metadata.records import MetadataRecord

CREDENTIALS_MAX = 100_000
USER_NAME_LENGTH_MAX = 4_096


@dataclass(frozen=True, slots=True)
class CredentialUpsertion:
    """A credential to set, as the client salted it. Its secrets are kept out of ``repr``."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


class CredentialDeletion(NamedTuple):
    """A credential to take away."""

    user: str
    mechanism: int


CredentialChange = CredentialUpsertion | CredentialDeletion


class CredentialDecision(NamedTuple):
    """What to write, and what each user of the request is told: None for a success."""

    records: list[MetadataRecord]
    outcomes: dict[str, HeadraceError | None]


def decide_credentials(
    state: AccessState, changes: Sequence[CredentialChange]
) -> CredentialDecision:
    by_user: dict[str, list[CredentialChange]] = {}
    for change in changes:
        by_user.setdefault(change.user, []).append(change)
    decision = CredentialDecision([], {})
    room = CREDENTIALS_MAX - len(state.credentials)
    for user, wanted in by_user.items():
        try:
            records = _decide_user(state, user, wanted)
            added = _count_new(state, records)
            if added > room:
                raise LimitReached(f"there can be {CREDENTIALS_MAX} credentials at most")
        except HeadraceError as error:
            decision.outcomes[user] = error
        else:
            decision.records.extend(records)
            room -= added
            decision.outcomes[user] = None
    return decision


def _count_new(state: AccessState, records: Sequence[MetadataRecord]) -> int:
    return sum(
        isinstance(record, UserScramCredentialRecord)
        and (record.user, record.mechanism) not in state.credentials
        for record in records
    )


def _decide_user(
    state: AccessState, user: str, changes: Sequence[CredentialChange]
) -> list[MetadataRecord]:
    if not user:
        raise UnacceptableCredential("a user must have a name")
    if len(user) > USER_NAME_LENGTH_MAX:
        raise UnacceptableCredential(f"the name exceeds {USER_NAME_LENGTH_MAX} characters")
    mechanisms = [_known_mechanism(change.mechanism) for change in changes]
    if len(set(mechanisms)) < len(mechanisms):
        raise DuplicateResource("a credential cannot be changed twice in one request")
    return [_decide_one(state, change) for change in changes]


def _known_mechanism(number: int) -> ScramMechanism:
    try:
        return ScramMechanism(number)
    except ValueError:
        raise UnsupportedSaslMechanism(f"there is no SCRAM mechanism {number}") from None


def _decide_one(state: AccessState, change: CredentialChange) -> MetadataRecord:
    if isinstance(change, CredentialDeletion):
        if (change.user, change.mechanism) not in state.credentials:
            raise ResourceNotFound("the user has no credential of this mechanism")
        return RemoveUserScramCredentialRecord(change.user, change.mechanism)
    credential = ScramCredential.from_salted_password(
        ScramMechanism(change.mechanism), change.salted_password, change.salt, change.iterations
    )
    return UserScramCredentialRecord(
        user=change.user,
        mechanism=change.mechanism,
        salt=credential.salt,
        stored_key=credential.stored_key,
        server_key=credential.server_key,
        iterations=credential.iterations,
    )
