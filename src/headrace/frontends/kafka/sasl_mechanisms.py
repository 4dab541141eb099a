"""The ways to log in that one listener offers, and where each finds what it checks against.

Users come from the listener's own settings and from the metadata log. Their passwords are not
kept: PLAIN is checked against the same keys as SCRAM. That takes milliseconds by design, so
``is_slow`` says for which mechanism a message must not be handled on the loop.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from headrace.config.broker_security import OAUTHBEARER, PLAIN
from headrace.frontends.common.known_users import KnownUsers
from headrace.security.sasl_oauthbearer import OAuthBearerConversation
from headrace.security.sasl_plain import PlainConversation
from headrace.security.sasl_scram import ScramConversation
from headrace.security.scram_credential import ScramMechanism, ScramPasswords

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.config.broker_security import SecuritySettings
    from headrace.environment.ports import Chance
    from headrace.frontends.common.known_users import CredentialSource
    from headrace.security.sasl import SaslConversation
    from headrace.security.sasl_oauthbearer import ValidToken

NONCE_BYTES = 24

_SCRAM = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}


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
        self._chance = chance
        self._validate_token = validate_token
        self._users = KnownUsers(settings.sasl_users, credentials, chance)

    def is_slow(self, mechanism: str) -> bool:
        """Whether a message of it takes milliseconds to check."""
        return mechanism == PLAIN

    def conversation(self, mechanism: str) -> SaslConversation:
        users = self._users
        if mechanism == PLAIN:
            passwords = ScramPasswords(ScramMechanism.SCRAM_SHA_256, users.find_any, users.fakes)
            return PlainConversation(passwords.is_password)
        if mechanism == OAUTHBEARER:
            assert self._validate_token is not None, "refused at the start"
            return OAuthBearerConversation(self._validate_token)
        scram = _SCRAM[mechanism]
        nonce = base64.b64encode(self._chance.random_bytes(NONCE_BYTES)).decode()
        return ScramConversation(scram, lambda name: users.find(name, scram), users.fakes, nonce)
