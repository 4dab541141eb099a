"""The error of a refused handshake carries the alert, and the client understands it."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime

import pytest

from headrace.security.tls_certificates import Authority
from headrace.security.tls_context import ClientAuth, TlsFiles, build_context
from headrace.security.tls_refusal import HandshakeRefused

ROUNDS_MAX = 10


class Side:
    """One end of a connection in memory."""

    def __init__(self, context, **options) -> None:
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, **options)

    def is_done(self) -> bool:
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True


@pytest.fixture
def authority():
    return Authority("authority", datetime.now(UTC), 1)


@pytest.fixture
def ends(authority, tmp_path):
    """A broker that wants certificates, and a client that has none."""

    def make(version, trusted=authority):
        for name, content in (
            ("ca.pem", authority.key_pair.certificate),
            ("server.pem", (pair := authority.server(["localhost"])).key + pair.certificate),
        ):
            (tmp_path / name).write_bytes(content)
        server = build_context(
            TlsFiles(
                str(tmp_path / "server.pem"),
                trust_file=str(tmp_path / "ca.pem"),
                client_auth=ClientAuth.REQUIRED,
            )
        )
        client = ssl.create_default_context(cadata=trusted.key_pair.certificate.decode())
        client.minimum_version = client.maximum_version = version
        return Side(server, server_side=True), Side(client, server_hostname="localhost")

    return make


def shake_hands(server, client):
    """Both in turn, until one of them raises."""
    for _ in range(ROUNDS_MAX):
        client.is_done()
        server.incoming.write(client.outgoing.read())
        server.is_done()
        client.incoming.write(server.outgoing.read())


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (ssl.TLSVersion.TLSv1_2, "HANDSHAKE_FAILURE"),
        (ssl.TLSVersion.TLSv1_3, "CERTIFICATE_REQUIRED"),
    ],
)
def test_error_has_the_alert_that_the_client_reads(ends, version, name):
    server, client = ends(version)
    with pytest.raises(HandshakeRefused) as refused:
        shake_hands(server, client)
    assert refused.value.cause.reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE"
    assert server.outgoing.pending == 0
    client.incoming.write(refused.value.alert)
    # A client of TLS 1.3 is through with its handshake by then.
    listen = client.tls.read if version is ssl.TLSVersion.TLSv1_3 else client.is_done
    with pytest.raises(ssl.SSLError) as told:
        listen()
    assert told.value.reason.endswith(name)


def test_refusal_by_the_client_is_not_answered(ends):
    stranger = Authority("stranger", datetime.now(UTC), 1)
    server, client = ends(ssl.TLSVersion.TLSv1_2, trusted=stranger)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, client)
    server.incoming.write(client.outgoing.read())
    with pytest.raises(HandshakeRefused) as refused:
        server.is_done()
    assert refused.value.cause.reason.endswith("UNKNOWN_CA")
    assert refused.value.alert == b""
