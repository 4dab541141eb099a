"""The ways to log in that one listener offers, and where each finds what it checks against.

Users come from the listener's own settings and from the metadata log. Their passwords are not
kept: PLAIN is checked against the same keys as SCRAM. That takes milliseconds by design, so
``is_slow`` says for which mechanism a message must not be handled on the loop.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Protocol

from headrace.config.broker_security import OAUTHBEARER, PLAIN, parse_users
from headrace.security.sasl_oauthbearer import OAuthBearerConversation
from headrace.security.sasl_plain import PlainConversation
from headrace.security.sasl_scram import ScramConversation
from headrace.security.scram_credential import (
    ITERATIONS_MIN,
    FakeCredentials,
    ScramCredential,
    ScramMechanism,
    ScramPasswords,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config.broker_security import SecuritySettings
    from headrace.environment.ports import Chance
    from headrace.security.sasl import SaslConversation
    from headrace.security.sasl_oauthbearer import ValidToken

NONCE_BYTES = 24
SALT_BYTES = 26
SECRET_BYTES = 32

_SCRAM = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}


class CredentialSource(Protocol):
    """The users in the metadata log. Asked from other threads as well: a mere look-up."""

    def scram(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None: ...


class SaslMechanisms:
    """Makes the conversations of one listener."""

    def __init__(
        self,
        settings: SecuritySettings,
        credentials: CredentialSource,
        chance: Chance,
        validate_token: Callable[[str, int], ValidToken] | None,
    ) -> None:
        """``validate_token`` is needed where OAUTHBEARER is enabled."""
        self.enabled = settings.sasl_enabled_mechanisms
        self._credentials = credentials
        self._chance = chance
        self._validate_token = validate_token
        self._fakes = FakeCredentials(chance.random_bytes(SECRET_BYTES), salt_bytes=SALT_BYTES)
        self._given = _derive(parse_users(settings.sasl_users), chance)

    def is_slow(self, mechanism: str) -> bool:
        """Whether a message of it takes milliseconds to check."""
        return mechanism == PLAIN

    def conversation(self, mechanism: str) -> SaslConversation:
        if mechanism == PLAIN:
            passwords = ScramPasswords(ScramMechanism.SCRAM_SHA_256, self._find_any, self._fakes)
            return PlainConversation(passwords.is_password)
        if mechanism == OAUTHBEARER:
            assert self._validate_token is not None, "refused at the start"
            return OAuthBearerConversation(self._validate_token)
        scram = _SCRAM[mechanism]
        nonce = base64.b64encode(self._chance.random_bytes(NONCE_BYTES)).decode()
        return ScramConversation(scram, lambda name: self._find(name, scram), self._fakes, nonce)

    def _find(self, name: str, mechanism: ScramMechanism) -> ScramCredential | None:
        return self._given.get((name, mechanism)) or self._credentials.scram(name, mechanism)

    def _find_any(self, name: str) -> ScramCredential | None:
        """For PLAIN any credential will do; most users have one for each mechanism."""
        found = (self._find(name, mechanism) for mechanism in ScramMechanism)
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
