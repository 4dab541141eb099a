"""The users that one listener knows: those of its own settings, and those of the metadata log.

Passwords are not kept. Whoever sends his is checked against the keys that SCRAM stores, which takes
milliseconds by design: not on the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headrace.config.broker_security import parse_users
from headrace.security.scram_credential import (
    ITERATIONS_MIN,
    FakeCredentials,
    ScramCredential,
    ScramMechanism,
)

if TYPE_CHECKING:
    from headrace.environment.ports import Chance

SALT_BYTES = 26
SECRET_BYTES = 32


class CredentialSource(Protocol):
    """The users in the metadata log. Asked from other threads as well: a mere look-up."""

    def scram(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None: ...


class KnownUsers:
    """Finds credentials, and tells nobody which users there are."""

    def __init__(self, given: str | None, credentials: CredentialSource, chance: Chance) -> None:
        """``given`` is the listener's ``headrace.sasl.users``."""
        self._credentials = credentials
        self.fakes = FakeCredentials(chance.random_bytes(SECRET_BYTES), salt_bytes=SALT_BYTES)
        self._given = _derive(parse_users(given), chance)

    def find(self, name: str, mechanism: ScramMechanism) -> ScramCredential | None:
        return self._given.get((name, mechanism)) or self._credentials.scram(name, mechanism)

    def find_any(self, name: str) -> ScramCredential | None:
        """For a password any credential will do; most users have one for each mechanism."""
        found = (self.find(name, mechanism) for mechanism in ScramMechanism)
        return next((credential for credential in found if credential is not None), None)


def _derive(
    users: dict[str, str], chance: Chance
) -> dict[tuple[str, ScramMechanism], ScramCredential]:
    return {
        (name, mechanism): ScramCredential.from_password(
            mechanism, password, chance.random_bytes(SALT_BYTES), ITERATIONS_MIN
        )
        for name, password in users.items()
        for mechanism in ScramMechanism
    }
