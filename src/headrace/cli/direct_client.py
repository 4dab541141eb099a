"""One connection to a broker that speaks the protocol itself, for what librdkafka does not offer.

It takes librdkafka's names for the settings about security, so that ``-X`` means the same with
every verb: plain text or TLS, without authentication or with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.
"""

from __future__ import annotations

import secrets
import socket
import ssl
import struct
from typing import TYPE_CHECKING, Any

from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.scram_client import ScramClient
from headrace.codecs.kafka import messages
from headrace.codecs.kafka.generated.sasl_authenticate import SaslAuthenticateRequest
from headrace.codecs.kafka.generated.sasl_handshake import SaslHandshakeRequest
from headrace.codecs.kafka.headers import decode_response_header, encode_request_header
from headrace.model.errors import HeadraceError
from headrace.security.scram_credential import ScramMechanism

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_ID = "headrace-cli"
ANSWER_BYTES_MAX = 64 * 1024 * 1024
DEFAULT_PORT = 9092
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
SASL_HANDSHAKE_VERSION, SASL_AUTHENTICATE_VERSION = 1, 1
_SCRAM = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}


class DirectClient:
    """Connects when it is made. Use it in a ``with`` block."""

    def __init__(self, bootstrap: str, settings: Mapping[str, str], timeout_seconds: float) -> None:
        self._settings = settings
        self._bootstrap = bootstrap
        self._correlation_id = 0
        self._host = ""
        protocol = settings.get("security.protocol", "PLAINTEXT").upper()
        if protocol not in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"):
            raise Failure(f"-X security.protocol={protocol}: no such protocol", ExitCode.USAGE)
        self._socket = self._connect(timeout_seconds)
        try:
            if "SSL" in protocol:
                self._begin_tls()
            if protocol.startswith("SASL"):
                self._authenticate()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> DirectClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def call(self, api_key: int, version: int, request: Any) -> Any:
        """The answer; Failure if none comes."""
        self._correlation_id += 1
        body: list[Any] = []
        messages.request_encoder(api_key, version)(request, body)
        header = encode_request_header(api_key, version, self._correlation_id, CLIENT_ID)
        data = header + b"".join(bytes(chunk) for chunk in body)
        try:
            self._socket.sendall(struct.pack(">i", len(data)) + data)
            (size,) = struct.unpack(">i", self._read(4))
            if not 0 <= size <= ANSWER_BYTES_MAX:
                raise Failure(f"the answer of {self._bootstrap} is no answer of a broker")
            answer = self._read(size)
        except OSError as error:
            raise self._no_answer() from error
        is_flexible = messages.response_header_is_flexible(api_key, version)
        _, position = decode_response_header(answer, is_flexible)
        return messages.response_decoder(api_key, version)(answer, position)[0]

    # --- connecting -----------------------------------------------------------------------------

    def _connect(self, timeout_seconds: float) -> socket.socket:
        for address in self._bootstrap.split(","):
            self._host, port = _host_and_port(address)
            try:
                return socket.create_connection((self._host, port), timeout_seconds)
            except OSError:
                continue  # the next address may answer; if none does, that is said below
        raise self._no_answer()

    def _begin_tls(self) -> None:
        settings = self._settings
        try:
            context = ssl.create_default_context(cafile=settings.get("ssl.ca.location"))
            if settings.get("ssl.endpoint.identification.algorithm", "https") == "none":
                context.check_hostname = False
            if settings.get("enable.ssl.certificate.verification", "true") == "false":
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            certificate = settings.get("ssl.certificate.location")
            if certificate is not None:
                key, password = settings.get("ssl.key.location"), settings.get("ssl.key.password")
                context.load_cert_chain(certificate, key, password)
            self._socket = context.wrap_socket(self._socket, server_hostname=self._host)
        except (OSError, ssl.SSLError) as error:
            raise Failure(f"no TLS with {self._bootstrap}: {error}") from error

    def _authenticate(self) -> None:
        settings = self._settings
        mechanism = settings.get("sasl.mechanisms", settings.get("sasl.mechanism", "")).upper()
        user, password = settings.get("sasl.username", ""), settings.get("sasl.password", "")
        if mechanism != "PLAIN" and mechanism not in _SCRAM:
            raise Failure(
                f"-X sasl.mechanism={mechanism}: this verb knows PLAIN, {', '.join(_SCRAM)}",
                ExitCode.USAGE,
            )
        answer = self.call(SASL_HANDSHAKE, SASL_HANDSHAKE_VERSION, SaslHandshakeRequest(mechanism))
        if answer.error_code:
            offered = ", ".join(answer.mechanisms)
            raise Failure(f"{self._bootstrap} does not offer {mechanism}, but: {offered}")
        if mechanism == "PLAIN":
            self._say(b"\0" + user.encode() + b"\0" + password.encode())
            return
        client = ScramClient(_SCRAM[mechanism], user, password, secrets.token_urlsafe(24))
        try:
            client.verify(self._say(client.final(self._say(client.first()))))
        except HeadraceError as error:
            raise Failure(f"authentication failed: {error.message}") from error

    def _say(self, token: bytes) -> bytes:
        request = SaslAuthenticateRequest(token)
        answer = self.call(SASL_AUTHENTICATE, SASL_AUTHENTICATE_VERSION, request)
        if answer.error_code:
            raise Failure(f"authentication failed: {answer.error_message}")
        return bytes(answer.auth_bytes)

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionError("the broker has closed the connection")
            data += part
        return bytes(data)

    def _no_answer(self) -> Failure:
        return Failure(
            f"no broker answers at {self._bootstrap}: start one with 'headrace serve', or pass "
            "--bootstrap HOST:PORT",
            ExitCode.CANNOT_CONNECT,
        )


def _host_and_port(address: str) -> tuple[str, int]:
    host, colon, port = address.strip().rpartition(":")
    if not colon:
        return address.strip(), DEFAULT_PORT
    if not port.isdigit():
        raise Failure(f"--bootstrap {address}: expected HOST:PORT", ExitCode.USAGE)
    return host.strip("[]"), int(port)
