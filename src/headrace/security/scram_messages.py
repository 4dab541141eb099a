"""The four messages of SCRAM (RFC 5802, section 7), read strictly and written plainly."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.model.errors import AuthenticationFailed
from headrace.security.sasl import decode_text

if TYPE_CHECKING:
    from collections.abc import Mapping

MESSAGE_BYTES_MAX = 4_096
NONCE_CHARACTERS_MAX = 512
NAME_CHARACTERS_MAX = 1_024
EXTENSIONS_MAX = 16

_PRINTABLE = re.compile(r"[\x21-\x2b\x2d-\x7e]+\Z")
_ATTRIBUTE_NAME = re.compile(r"[A-Za-z]+\Z")
_BAD_ESCAPE = re.compile(r"=(?!2C|3D)")


@dataclass(frozen=True, slots=True)
class ClientFirst:
    gs2_header: str
    authorization_id: str
    name: str
    nonce: str
    extensions: Mapping[str, str]
    bare: str
    """The message without its header: a part of what both sides sign."""


@dataclass(frozen=True, slots=True)
class ClientFinal:
    channel_binding: bytes
    nonce: str
    proof: bytes
    without_proof: str
    """The message up to its proof: a part of what both sides sign."""


class ChannelBindingRefused(AuthenticationFailed):
    """The client demands channel binding, which this server does not offer."""


def is_nonce(text: str) -> bool:
    """Printable ASCII without a comma, and not too much of it."""
    return len(text) <= NONCE_CHARACTERS_MAX and _PRINTABLE.match(text) is not None


def parse_client_first(message: bytes) -> ClientFirst:
    """``n,[a=authzid],n=name,r=nonce[,extensions]``; else AuthenticationFailed."""
    text = decode_text(message, MESSAGE_BYTES_MAX)
    flag, authorization, bare = _split_header(text)
    if flag.startswith("p="):
        raise ChannelBindingRefused("the client demands channel binding")
    if flag not in ("n", "y"):
        raise AuthenticationFailed("the message does not start with a channel binding flag")
    if authorization and not authorization.startswith("a="):
        raise AuthenticationFailed("the second field is not an authorization id")
    name_field, *others = bare.split(",", EXTENSIONS_MAX + 2)
    if name_field.startswith("m="):
        raise AuthenticationFailed("a mandatory extension is not supported")
    if not others:
        raise AuthenticationFailed("the nonce is missing")
    nonce_field, *extensions = others
    return ClientFirst(
        gs2_header=f"{flag},{authorization},",
        authorization_id=_unescape(authorization[2:]) if authorization else "",
        name=_unescape(_value(name_field, "n")),
        nonce=_nonce(nonce_field),
        extensions=_extensions(extensions),
        bare=bare,
    )


def parse_client_final(message: bytes) -> ClientFinal:
    """``c=binding,r=nonce[,extensions],p=proof``; else AuthenticationFailed."""
    text = decode_text(message, MESSAGE_BYTES_MAX)
    without_proof, comma, proof = text.rpartition(",")
    fields = without_proof.split(",", EXTENSIONS_MAX + 2)
    if not comma or len(fields) < 2:
        raise AuthenticationFailed("the final message lacks a field")
    _extensions(fields[2:])
    return ClientFinal(
        channel_binding=_base64(_value(fields[0], "c")),
        nonce=_nonce(fields[1]),
        proof=_base64(_value(proof, "p")),
        without_proof=without_proof,
    )


def server_first(nonce: str, salt: bytes, iterations: int) -> str:
    return f"r={nonce},s={base64.b64encode(salt).decode()},i={iterations}"


def server_final(signature: bytes) -> bytes:
    return b"v=" + base64.b64encode(signature)


def _split_header(text: str) -> tuple[str, str, str]:
    parts = text.split(",", 2)
    if len(parts) != 3:
        raise AuthenticationFailed("the message has no header")
    return parts[0], parts[1], parts[2]


def _value(field: str, name: str) -> str:
    if not field.startswith(name + "="):
        raise AuthenticationFailed(f"the field {name}= is missing")
    return field[len(name) + 1 :]


def _nonce(field: str) -> str:
    nonce = _value(field, "r")
    if not is_nonce(nonce):
        raise AuthenticationFailed("the nonce is not printable, or too long")
    return nonce


def _unescape(saslname: str) -> str:
    # RFC 5802, 5.1: "If the server receives a username that contains '=' not followed by either
    # '2C' or '3D', then the server MUST fail the authentication."
    if not saslname or len(saslname) > NAME_CHARACTERS_MAX or "\0" in saslname:
        raise AuthenticationFailed("a name is empty, too long, or has a NUL")
    if _BAD_ESCAPE.search(saslname):
        raise AuthenticationFailed("a name has '=' without 2C or 3D after it")
    return saslname.replace("=2C", ",").replace("=3D", "=")


def _extensions(fields: list[str]) -> dict[str, str]:
    if len(fields) > EXTENSIONS_MAX:
        raise AuthenticationFailed(f"there are more than {EXTENSIONS_MAX} extensions")
    found: dict[str, str] = {}
    for field in fields:
        name, equals, value = field.partition("=")
        if not (equals and value and _ATTRIBUTE_NAME.match(name)) or name in found:
            raise AuthenticationFailed("an extension is malformed, or there twice")
        found[name] = value
    return found


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AuthenticationFailed("a field is not base64") from error
