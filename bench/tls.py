"""Certificates for one run, and what brokers and clients are told about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headrace.security.tls_certificates import Authority

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"
VALID_DAYS = 2
KEY_MODE = 0o600


@dataclass(frozen=True)
class TlsFiles:
    """Whom clients trust, and the broker's certificate with its key; both PEM."""

    authority: Path
    keystore: Path

    @property
    def broker_settings(self) -> dict[str, str]:
        """Both brokers have the same names for these."""
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.keystore)}

    @property
    def client_settings(self) -> dict[str, str]:
        return {"security.protocol": "ssl", "ssl.ca.location": str(self.authority)}


def make_tls_files(directory: Path) -> TlsFiles:
    authority = Authority("bench", datetime.now(UTC), VALID_DAYS)
    server = authority.server([HOST])
    files = TlsFiles(directory / "authority.pem", directory / "broker.pem")
    files.authority.write_bytes(authority.key_pair.certificate)
    files.keystore.touch(KEY_MODE)
    files.keystore.write_bytes(server.key + server.certificate)
    return files
