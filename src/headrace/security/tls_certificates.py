"""Certificates for trying things out: an authority, and what it signs for a server and its clients.

Returns PEM bytes; whoever writes them must keep the keys readable by their owner only. The keys are
P-256, which every client takes. Validity is passed in.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from headrace.model.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMON_NAME_CHARACTERS_MAX = 64
HOSTS_MAX = 100
_BACKDATED = timedelta(minutes=5)
"""Clocks differ: a certificate of this very second would be refused next door."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


class Authority:
    """A certificate authority that lives as long as the command that made it."""

    def __init__(self, common_name: str, now: datetime, valid_days: int) -> None:
        self._now = now
        self._until = now + timedelta(days=valid_days)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(common_name)
        builder = self._builder(self._name, self._key)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        builder = builder.add_extension(_usage(signs_certificates=True), True)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def key_pair(self) -> KeyPair:
        return _pem(self._certificate, self._key)

    def server(self, hosts: Sequence[str]) -> KeyPair:
        """For a server that is reached by these names and addresses."""
        if not 0 < len(hosts) <= HOSTS_MAX:
            raise InvalidRequest(f"a server certificate has 1 to {HOSTS_MAX} hosts")
        alternatives = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._issue(hosts[0], ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, common_name: str) -> KeyPair:
        """For a client; the common name is what principal mapping sees as CN."""
        return self._issue(common_name, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _issue(
        self,
        common_name: str,
        purpose: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_name(common_name), key)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(_usage(signs_certificates=False), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), False)
        if alternatives is not None:
            builder = builder.add_extension(alternatives, False)
        return _pem(builder.sign(self._key, hashes.SHA256()), key)

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey
    ) -> x509.CertificateBuilder:
        authority_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - _BACKDATED)
            .not_valid_after(self._until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
            .add_extension(authority_key, False)
        )


def _name(common_name: str) -> x509.Name:
    if not 0 < len(common_name) <= COMMON_NAME_CHARACTERS_MAX:
        raise InvalidRequest(f"a common name has 1 to {COMMON_NAME_CHARACTERS_MAX} characters")
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        if not host.isascii():
            raise InvalidRequest(f"the host {host!r} must be written in ASCII") from None
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
