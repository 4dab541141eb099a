"""What is stored of a password for SCRAM: enough to check a proof, not enough to make one.

Passwords are taken as their UTF-8 bytes. RFC 5802 asks for SASLprep; Kafka and its clients do not
do it, and a credential must fit the clients.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from headrace.model.errors import UnacceptableCredential

if TYPE_CHECKING:
    from collections.abc import Callable

ITERATIONS_MIN = 4_096
ITERATIONS_MAX = 16_384
SALT_BYTES_MAX = 1_024
SECRET_BYTES_MIN = 16


class ScramMechanism(IntEnum):
    """The numbers are those of Kafka's records and requests."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def sasl_name(self) -> str:
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"

    @property
    def digest_bytes(self) -> int:
        return hashlib.new(self.hash_name).digest_size

    def hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self.hash_name)

    def hash(self, message: bytes) -> bytes:
        return hashlib.new(self.hash_name, message).digest()


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """One user's stored credential for one mechanism. Its keys are kept out of ``repr``."""

    mechanism: ScramMechanism
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int

    def __post_init__(self) -> None:
        _raise_if_unacceptable(self.salt, self.iterations)
        for key in (self.stored_key, self.server_key):
            if len(key) != self.mechanism.digest_bytes:
                raise UnacceptableCredential(
                    f"a key of {self.mechanism.sasl_name} has {self.mechanism.digest_bytes} bytes"
                )

    @classmethod
    def from_salted_password(
        cls, mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
    ) -> ScramCredential:
        """What AlterUserScramCredentials sends: the client has done the slow part."""
        if len(salted_password) != mechanism.digest_bytes:
            raise UnacceptableCredential(
                f"a salted password of {mechanism.sasl_name} has {mechanism.digest_bytes} bytes"
            )
        return cls(
            mechanism=mechanism,
            salt=salt,
            stored_key=mechanism.hash(mechanism.hmac(salted_password, b"Client Key")),
            server_key=mechanism.hmac(salted_password, b"Server Key"),
            iterations=iterations,
        )

    @classmethod
    def from_password(
        cls, mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
    ) -> ScramCredential:
        """Takes milliseconds, by design."""
        _raise_if_unacceptable(salt, iterations)
        if not password:
            raise UnacceptableCredential("a password must not be empty")
        salted = hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)
        return cls.from_salted_password(mechanism, salted, salt, iterations)

    def is_password(self, password: str) -> bool:
        """Whether this is the password, in a time that does not depend on the answer."""
        given = self.from_password(self.mechanism, password, self.salt, self.iterations)
        return hmac.compare_digest(given.stored_key, self.stored_key)


def _raise_if_unacceptable(salt: bytes, iterations: int) -> None:
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise UnacceptableCredential(
            f"{iterations} iterations; allowed are {ITERATIONS_MIN} to {ITERATIONS_MAX}"
        )
    if not 0 < len(salt) <= SALT_BYTES_MAX:
        raise UnacceptableCredential(f"a salt has 1 to {SALT_BYTES_MAX} bytes, not {len(salt)}")


@dataclass(frozen=True, slots=True)
class FakeCredentials:
    """Credentials for users that do not exist: the same each time, and nobody's password fits.

    Salt length and iterations should be those that real users get, or they tell the two apart.
    """

    secret: bytes = field(repr=False)
    salt_bytes: int = 26
    iterations: int = ITERATIONS_MIN

    def __post_init__(self) -> None:
        if len(self.secret) < SECRET_BYTES_MIN:
            raise UnacceptableCredential(f"the secret must have {SECRET_BYTES_MIN} bytes or more")

    def of(self, mechanism: ScramMechanism, name: str) -> ScramCredential:
        """The fake credential of this name, derived from the server's secret."""
        who = mechanism.sasl_name.encode() + b"\0" + name.encode()
        salt = hashlib.shake_256(hmac.digest(self.secret, b"salt\0" + who, "sha256"))
        return ScramCredential(
            mechanism=mechanism,
            salt=salt.digest(self.salt_bytes),
            stored_key=mechanism.hmac(self.secret, b"stored key\0" + who),
            server_key=mechanism.hmac(self.secret, b"server key\0" + who),
            iterations=self.iterations,
        )


@dataclass(frozen=True, slots=True)
class ScramPasswords:
    """Checks plain passwords against SCRAM credentials, with the same work for unknown names."""

    mechanism: ScramMechanism
    find: Callable[[str], ScramCredential | None]
    fakes: FakeCredentials

    def is_password(self, name: str, password: str) -> bool:
        known = self.find(name)
        credential = known or self.fakes.of(self.mechanism, name)
        return credential.is_password(password) and known is not None
