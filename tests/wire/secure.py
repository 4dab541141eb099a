"""Certificates, tokens and log-ins for tests of secured listeners."""

from __future__ import annotations

import json
import ssl
import time
import warnings
from copy import copy
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from headrace.codecs.kafka.generated.sasl_authenticate import SaslAuthenticateRequest
from headrace.codecs.kafka.generated.sasl_handshake import SaslHandshakeRequest
from headrace.security.tls_certificates import Authority
from tests.wire.raw_client import RawClient

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python warns about itself
    from kafka.net.sasl.scram import ScramClient

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.security.acl import Principal
    from headrace.testing import Broker

HANDSHAKE, AUTHENTICATE = 17, 36
PATIENCE_SECONDS = 5
TOKEN_KEY = ec.generate_private_key(ec.SECP256R1())
FORGED_KEY = ec.generate_private_key(ec.SECP256R1())


class Certificates:
    """Of an authority, a broker on this machine, and a client named alice; in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._authority = Authority("authority", datetime.now(UTC), 1)
        self.authority = self._write("ca.pem", self._authority.key_pair.certificate)
        self.server = str(directory / "server.pem")
        self.renew_server()
        client = self._authority.client("alice")
        self.client = self._write("client.pem", client.key + client.certificate)

    def renew_server(self) -> None:
        pair = self._authority.server(["localhost", "127.0.0.1"])
        self._write("server.pem", pair.key + pair.certificate)

    def expired_client(self) -> str:
        """A certificate of the right authority whose time is over."""
        past = copy(self._authority)
        past._now, past._until = (datetime.now(UTC) - timedelta(days=days) for days in (2, 1))
        pair = past.client("alice")
        return self._write("expired.pem", pair.key + pair.certificate)

    def _write(self, name: str, content: bytes) -> str:
        path = self.directory / name
        new = path.with_suffix(".new")
        new.write_bytes(content)
        new.replace(path)
        return str(path)

    @property
    def settings(self) -> dict[str, str]:
        """Of a broker."""
        return {"ssl.keystore.location": self.server, "ssl.truststore.location": self.authority}

    def client_context(self, *, with_certificate: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority)
        if with_certificate:
            context.load_cert_chain(self.client)
        return context


class TlsClient(RawClient):
    """A client that can misbehave, encrypted."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(port)
        try:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        except OSError:
            self.socket.close()
            raise

    @property
    def server_serial(self) -> str:
        assert isinstance(self.socket, ssl.SSLSocket)
        certificate = self.socket.getpeercert()
        assert certificate is not None
        return str(certificate["serialNumber"])


def principal_of(broker: Broker, client: RawClient) -> Principal:
    """As whom the broker takes the client."""
    port = client.socket.getsockname()[1]

    def look(server: Any) -> Principal:
        doors = [door for _, door in server._listeners]
        sessions = [session for door in doors for session in door.sessions]
        return next(each.principal for each in sessions if each.peer_port == port)

    return broker.call(look)


def is_cut_off(client: RawClient) -> bool:
    """Whether the broker ends the connection; waits only if it does not."""
    client.socket.settimeout(PATIENCE_SECONDS)
    try:
        return client.is_closed_by_peer()
    except TimeoutError:
        return False


def key_set(directory: Path) -> str:
    """The URL of a file with the key that tokens are signed with."""
    path = directory / "keys.json"
    entry = ECAlgorithm.to_jwk(TOKEN_KEY.public_key(), as_dict=True)
    path.write_text(json.dumps({"keys": [entry]}))
    return path.as_uri()


def token(
    name: str = "alice", seconds: float = 60, key: Any = TOKEN_KEY, algorithm: str = "ES256"
) -> str:
    claims = {"sub": name, "exp": int(time.time() + seconds), "iat": int(time.time()) - 5}
    return jwt.encode(claims, key, algorithm)


def handshake(client: RawClient, mechanism: str, version: int = 1) -> Any:
    return client.call(HANDSHAKE, version, SaslHandshakeRequest(mechanism=mechanism))


def authenticate(client: RawClient, data: bytes, version: int = 2) -> Any:
    return client.call(AUTHENTICATE, version, SaslAuthenticateRequest(auth_bytes=data))


def plain(name: str, password: str) -> bytes:
    return f"\0{name}\0{password}".encode()


def bearer(text: str) -> bytes:
    return f"n,,\x01auth=Bearer {text}\x01\x01".encode()


def log_in_plain(client: RawClient, name: str = "alice", password: str = "secret") -> Any:
    """The answer to the only token."""
    assert handshake(client, "PLAIN").error_code == 0
    return authenticate(client, plain(name, password))


def log_in_scram(
    client: RawClient, name: str, password: str, mechanism: str = "SCRAM-SHA-256"
) -> Any:
    """The answer to the last token, whose proof is checked."""
    assert handshake(client, mechanism).error_code == 0
    scram = ScramClient(name, password, mechanism)
    first = authenticate(client, scram.first_message())
    scram.process_server_first_message(first.auth_bytes)
    answer = authenticate(client, scram.final_message())
    if answer.error_code == 0:
        scram.process_server_final_message(answer.auth_bytes)
    return answer
