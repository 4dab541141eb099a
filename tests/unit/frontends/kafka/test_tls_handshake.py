"""What is said about a handshake that failed; the handshakes themselves are in tests/wire."""

from __future__ import annotations

import ssl

import pytest

from headrace.frontends.kafka.tls_handshake import explain
from headrace.security.tls_refusal import HandshakeRefused


def tls_error(reason: str | None, text: str = "something") -> ssl.SSLError:
    error = ssl.SSLError(1, text)
    error.reason = reason  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("WRONG_VERSION_NUMBER", "does not speak TLS"),
        ("HTTP_REQUEST", "does not speak TLS"),
        ("TLSV1_ALERT_UNKNOWN_CA", "does not trust our certificate"),
        ("UNSUPPORTED_PROTOCOL", "ssl.enabled.protocols"),
        ("CERTIFICATE_VERIFY_FAILED", "ssl.truststore.location"),
        ("PEER_DID_NOT_RETURN_A_CERTIFICATE", "ssl.client.auth"),
    ],
)
def test_known_reason_comes_with_what_to_change(reason: str, words: str) -> None:
    told = explain(tls_error(reason))
    assert words in told
    assert told.endswith(f"({reason})")


def test_unknown_reason_is_told_as_it_is() -> None:
    assert explain(tls_error("SOMETHING_NEW")) == "SOMETHING_NEW"
    assert "odd" in explain(tls_error(None, "odd"))
    assert explain(ConnectionAbortedError("took too long")) == "took too long"
    assert explain(OSError()) == "OSError"


def test_certificate_that_is_not_good_comes_with_what_is_wrong_with_it() -> None:
    error = ssl.SSLCertVerificationError(1, "something")
    error.reason, error.verify_message = "CERTIFICATE_VERIFY_FAILED", "certificate has expired"
    told = explain(HandshakeRefused(error, b""))
    assert "ssl.truststore.location" in told
    assert told.endswith("(CERTIFICATE_VERIFY_FAILED: certificate has expired)")
