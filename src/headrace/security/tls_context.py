"""A listener's TLS: contexts from PEM files, and new certificates without a restart.

To reload makes a new context: handshakes after that use it, connections before it are left alone. A
context that is changed in place would never forget an authority that is no longer trusted.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from enum import Enum

from headrace.model.errors import InvalidConfig
from headrace.security.tls_refusal import TellingContext


class ClientAuth(Enum):
    """Whether clients show certificates: ``ssl.client.auth``."""

    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


_VERIFY_MODES = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}
_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where a listener's keys are, and what it demands. Everything is PEM."""

    certificate_chain_file: str
    key_file: str | None = None
    """None: the key is in the file of the chain, as in a PEM key store of Kafka."""
    key_password: str | None = field(default=None, repr=False)
    trust_file: str | None = None
    """The authorities that client certificates must come from."""
    client_auth: ClientAuth = ClientAuth.NONE
    protocols: frozenset[str] = frozenset(_VERSIONS)


class ListenerTls:
    """One listener's context: each handshake takes ``context`` as it is then."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self.context = build_context(files)

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it is made from."""
        files = self._files
        named = (files.certificate_chain_file, files.key_file, files.trust_file)
        return tuple(path for path in named if path is not None)

    def reload(self) -> None:
        """Take what the files have now; if they are not good, InvalidConfig and nothing changes."""
        self.context = build_context(self._files)


def build_context(files: TlsFiles) -> ssl.SSLContext:
    """A server's context; InvalidConfig says which file is wrong, never what is in it."""
    if files.client_auth is not ClientAuth.NONE and files.trust_file is None:
        raise InvalidConfig(f"client auth {files.client_auth.value} needs a trust store")
    unknown = sorted(files.protocols - set(_VERSIONS))
    if unknown or not files.protocols:
        raise InvalidConfig(f"TLS protocols must be of {sorted(_VERSIONS)}, not {unknown}")
    context = TellingContext(ssl.PROTOCOL_TLS_SERVER)
    enabled = [_VERSIONS[name] for name in files.protocols]
    context.minimum_version, context.maximum_version = min(enabled), max(enabled)
    # Renegotiation and compression are old ways to attack a server and of no use here.
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.verify_mode = _VERIFY_MODES[files.client_auth]
    # Connections live long, so tickets to come back with are of no use; without them nobody comes
    # back past a trust store that has changed.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    _load(context, files)
    return context


def _load(context: ssl.SSLContext, files: TlsFiles) -> None:
    # Without a password function OpenSSL would ask on the terminal.
    password = files.key_password or ""
    try:
        context.load_cert_chain(files.certificate_chain_file, files.key_file, lambda: password)
    except (OSError, ValueError) as error:
        raise InvalidConfig(
            f"the certificate {files.certificate_chain_file} and its key cannot be used:"
            f" {_reason(error)}"
        ) from error
    if files.trust_file is None:
        return
    try:
        context.load_verify_locations(files.trust_file)
    except (OSError, ValueError) as error:
        raise InvalidConfig(
            f"the trust store {files.trust_file} cannot be used: {_reason(error)}"
        ) from error


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        return error.reason or "it is not PEM, or the password is wrong"
    return getattr(error, "strerror", None) or str(error)
