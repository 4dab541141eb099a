"""SCRAM credentials of users: kept in the metadata log, asked for by those who authenticate."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from headrace.coordination.metadata.credentials import decide_credentials
from headrace.model.errors import (
    DuplicateResource,
    HeadraceError,
    ResourceNotFound,
    UnacceptableCredential,
)
from headrace.security.scram_credential import ScramCredential, ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.broker.metadata_store import MetadataStore
    from headrace.coordination.metadata.credentials import CredentialChange
    from headrace.coordination.metadata.records import UserScramCredentialRecord

log = logging.getLogger(__name__)


class DescribedCredential(NamedTuple):
    """All that is ever told about a credential."""

    mechanism: int
    iterations: int


class Credentials:
    """The one door to SCRAM credentials."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._state = store.state.access

    def scram(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        """What a proof of this user is checked against; None if there is nothing."""
        record = self._state.credentials.get((user, mechanism))
        return None if record is None else _maybe_credential(record)

    def alter(self, changes: Sequence[CredentialChange]) -> dict[str, HeadraceError | None]:
        """What each user of the request is told: None for a success."""
        decision = decide_credentials(self._state, changes)
        self._store.commit(decision.records)
        for user, outcome in decision.outcomes.items():
            if outcome is None:
                log.info("SCRAM credentials of %r changed", user)
        return decision.outcomes

    def describe(
        self, users: Sequence[str] | None
    ) -> dict[str, list[DescribedCredential] | HeadraceError]:
        """By user, in the order asked for; no users, or None, means all."""
        by_user: dict[str, list[DescribedCredential]] = {}
        for record in self._state.credentials.values():
            described = DescribedCredential(record.mechanism, record.iterations)
            by_user.setdefault(record.user, []).append(described)
        if not users:
            return dict(sorted(by_user.items()))
        times_named: dict[str, int] = {}
        for user in users:
            times_named[user] = times_named.get(user, 0) + 1
        return {
            user: _one_user(user, times, by_user.get(user)) for user, times in times_named.items()
        }


def _one_user(
    user: str, times_named: int, found: list[DescribedCredential] | None
) -> list[DescribedCredential] | HeadraceError:
    if times_named > 1:
        return DuplicateResource(f"user {user!r} is named {times_named} times")
    return found or ResourceNotFound(f"user {user!r} has no SCRAM credential")


def _maybe_credential(record: UserScramCredentialRecord) -> ScramCredential | None:
    try:
        return ScramCredential(
            mechanism=ScramMechanism(record.mechanism),
            salt=record.salt,
            stored_key=record.stored_key,
            server_key=record.server_key,
            iterations=record.iterations,
        )
    except UnacceptableCredential as error:
        # Somebody else wrote this log, and was less strict: nobody can log in with it here.
        log.warning("the SCRAM credential of %r cannot be used: %s", record.user, error.message)
        return None
