import contextlib
import socket
import ssl
import threading
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives import serialization

from headrace.model.errors import InvalidConfig
from headrace.security.distinguished_name import subject_of
from headrace.security.tls_certificates import Authority
from headrace.security.tls_context import ClientAuth, ListenerTls, TlsFiles, build_context

TIMEOUT_S = 10


class Files:
    """A directory with an authority, a server and a client."""

    def __init__(self, directory):
        self.directory = directory
        self.authority = Authority("authority", datetime.now(UTC), 1)
        self.write("ca.pem", self.authority.key_pair.certificate)
        self.issue_server()
        client = self.authority.client("alice")
        self.client = self.write("client.pem", client.certificate + client.key)

    def write(self, name, content):
        (self.directory / name).write_bytes(content)
        return str(self.directory / name)

    def issue_server(self):
        self.server = self.authority.server(["localhost"])
        self.write("server.pem", self.server.certificate)
        self.write("server.key", self.server.key)

    def path(self, name):
        return str(self.directory / name)

    def tls(self, **changes):
        return TlsFiles(
            **{
                "certificate_chain_file": self.path("server.pem"),
                "key_file": self.path("server.key"),
                "trust_file": self.path("ca.pem"),
            }
            | changes
        )

    def client_context(self, *, with_certificate=False):
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        if with_certificate:
            context.load_cert_chain(self.client)
        return context


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def shake_hands(server_context, client_context):
    """Over real sockets on loopback: what each side saw of the other, or the client's error."""
    seen = {}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(TIMEOUT_S)

        def serve():
            raw, _ = listener.accept()
            raw.settimeout(TIMEOUT_S)
            with (
                raw,
                contextlib.suppress(ssl.SSLError, ConnectionError),
                server_context.wrap_socket(raw, server_side=True) as tls,
            ):
                seen["client"] = tls.getpeercert()
                tls.sendall(b"!")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            with (
                socket.create_connection(listener.getsockname(), TIMEOUT_S) as raw,
                client_context.wrap_socket(raw, server_hostname="localhost") as tls,
            ):
                # With TLS 1.3 the server's refusal only arrives with the first read.
                if tls.recv(1) != b"!":
                    raise ConnectionResetError("closed by the server")
                seen["serial"] = tls.getpeercert()["serialNumber"]
                seen["version"] = tls.version()
        finally:
            thread.join(TIMEOUT_S)
    return seen


def test_server_is_trusted_and_speaks_the_newest_version(files):
    seen = shake_hands(build_context(files.tls()), files.client_context())
    assert seen["version"] == "TLSv1.3"
    assert not seen["client"]


def test_client_certificate_is_demanded_and_its_subject_seen(files):
    server = build_context(files.tls(client_auth=ClientAuth.REQUIRED))
    seen = shake_hands(server, files.client_context(with_certificate=True))
    assert subject_of(seen["client"]) == "CN=alice"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        shake_hands(server, files.client_context())


def test_client_certificate_may_be_left_out_if_only_requested(files):
    server = build_context(files.tls(client_auth=ClientAuth.REQUESTED))
    assert not shake_hands(server, files.client_context())["client"]
    assert shake_hands(server, files.client_context(with_certificate=True))["client"]


def test_client_of_another_authority_is_refused(files, tmp_path):
    (tmp_path / "other").mkdir()
    stranger = Files(tmp_path / "other")
    server = build_context(files.tls(client_auth=ClientAuth.REQUESTED))
    client = files.client_context()
    client.load_cert_chain(stranger.client)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        shake_hands(server, client)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, stranger.client_context())


def test_old_protocol_is_refused(files):
    client = files.client_context()
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    assert shake_hands(build_context(files.tls()), client)["version"] == "TLSv1.2"
    only_new = build_context(files.tls(protocols=frozenset({"TLSv1.3"})))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        shake_hands(only_new, client)
    assert build_context(files.tls()).minimum_version is ssl.TLSVersion.TLSv1_2


def test_reloaded_certificate_serves_new_handshakes_only(files):
    tls = ListenerTls(files.tls())
    old = tls.context
    before = shake_hands(old, files.client_context())["serial"]
    files.issue_server()
    assert shake_hands(tls.context, files.client_context())["serial"] == before
    tls.reload()
    assert shake_hands(tls.context, files.client_context())["serial"] != before
    assert shake_hands(old, files.client_context())["serial"] == before


def test_reload_forgets_an_authority_that_is_no_longer_trusted(files, tmp_path):
    tls = ListenerTls(files.tls(client_auth=ClientAuth.REQUIRED))
    client = files.client_context(with_certificate=True)
    assert shake_hands(tls.context, client)["client"]
    other = Authority("other", datetime.now(UTC), 1)
    files.write("ca.pem", other.key_pair.certificate)
    tls.reload()
    with pytest.raises((ssl.SSLError, ConnectionError)):
        shake_hands(tls.context, client)


def test_reload_of_broken_files_changes_nothing(files):
    tls = ListenerTls(files.tls())
    before = shake_hands(tls.context, files.client_context())["serial"]
    files.issue_server()
    files.write("server.key", files.authority.client("other").key)
    with pytest.raises(InvalidConfig):
        tls.reload()
    assert shake_hands(tls.context, files.client_context())["serial"] == before


def test_chain_and_key_may_share_a_file(files):
    both = files.write("both.pem", files.server.key + files.server.certificate)
    server = build_context(files.tls(certificate_chain_file=both, key_file=None))
    assert shake_hands(server, files.client_context())["serial"]


def test_encrypted_key_needs_its_password_and_never_asks(files):
    key = serialization.load_pem_private_key(files.server.key, None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"pass word"),
    )
    files.write("server.key", encrypted)
    good = files.tls(key_password="pass word")
    assert shake_hands(build_context(good), files.client_context())["serial"]
    assert "pass word" not in repr(good)
    for password in (None, "hunter2"):
        with pytest.raises(InvalidConfig) as caught:
            build_context(files.tls(key_password=password))
        assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(
    "changes",
    [
        {"certificate_chain_file": "missing.pem"},
        {"key_file": "missing.key"},
        {"trust_file": "missing-ca.pem"},
        {"client_auth": ClientAuth.REQUIRED, "trust_file": None},
        {"protocols": frozenset({"TLSv1.1"})},
        {"protocols": frozenset()},
        {"key_password": "x" * 5_000},
    ],
)
def test_bad_settings_are_refused(files, changes):
    if "key_password" in changes:
        files.write("server.key", b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n")
    with pytest.raises(InvalidConfig):
        build_context(files.tls(**changes))


@pytest.mark.parametrize("content", [b"", b"not pem", b"\xff" * 100])
def test_file_that_is_not_pem_is_refused(files, content):
    files.write("ca.pem", content)
    with pytest.raises(InvalidConfig):
        build_context(files.tls())
    with pytest.raises(InvalidConfig):
        build_context(files.tls(certificate_chain_file=files.path("ca.pem"), trust_file=None))
