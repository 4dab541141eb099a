"""A certificate's subject as the text that Kafka sees: RFC 2253, in the form Java prints it.

Rules and access lists are written against Java's text, so its habits are kept: the last name comes
first, attributes that RFC 2253 does not name appear as ``OID=#hex`` of their DER value, and ``=``
and ``#`` are escaped everywhere.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.model.errors import AuthenticationFailed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Subject = Sequence[Sequence[tuple[str, str]]]

NAME_CHARACTERS_MAX = 16_384

_KEYWORDS = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_OBJECT_IDS = {
    "surname": "2.5.4.4",
    "serialNumber": "2.5.4.5",
    "title": "2.5.4.12",
    "description": "2.5.4.13",
    "businessCategory": "2.5.4.15",
    "postalCode": "2.5.4.17",
    "telephoneNumber": "2.5.4.20",
    "name": "2.5.4.41",
    "givenName": "2.5.4.42",
    "initials": "2.5.4.43",
    "generationQualifier": "2.5.4.44",
    "dnQualifier": "2.5.4.46",
    "pseudonym": "2.5.4.65",
    "organizationIdentifier": "2.5.4.97",
    "emailAddress": "1.2.840.113549.1.9.1",
}
_ESCAPED = re.compile(r'[,=+<>#;\\"]')
_UTF8_TAG = 0x0C
_OTHER_TAGS = {"serialNumber": 0x13, "dnQualifier": 0x13, "emailAddress": 0x16}
"""PrintableString and IA5String, where RFC 5280 asks for them."""


def subject_of(certificate: Mapping[str, object]) -> str:
    """The subject of what ``SSLSocket.getpeercert()`` returned, as RFC 2253 text."""
    subject = certificate.get("subject")
    if not isinstance(subject, tuple) or not subject:
        raise AuthenticationFailed("the certificate has no subject")
    return distinguished_name(subject)


def distinguished_name(subject: Subject) -> str:
    """RFC 2253, 2.1: "starting with the last element of the sequence and moving backwards"."""
    parts = ("+".join(_attribute(*pair) for pair in relative) for relative in reversed(subject))
    text = ",".join(parts)
    if len(text) > NAME_CHARACTERS_MAX:
        raise AuthenticationFailed(f"the subject exceeds {NAME_CHARACTERS_MAX} characters")
    return text


def _attribute(name: str, value: str) -> str:
    if name in _KEYWORDS:
        return f"{_KEYWORDS[name]}={_escape(value)}"
    return f"{_OBJECT_IDS.get(name, name)}=#{_der_text(name, value).hex()}"


def _escape(value: str) -> str:
    text = _ESCAPED.sub(r"\\\g<0>", value).replace("\0", "\\00")
    inner = text.strip(" ")
    if not inner:
        return "\\ " * len(text)
    leading = len(text) - len(text.lstrip(" "))
    return "\\ " * leading + inner + "\\ " * (len(text) - leading - len(inner))


def _der_text(name: str, value: str) -> bytes:
    """The value as DER. Python does not tell the string type; this is what OpenSSL chooses."""
    tag = _OTHER_TAGS.get(name, _UTF8_TAG) if value.isascii() else _UTF8_TAG
    content = value.encode()
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(size))) + size + content
