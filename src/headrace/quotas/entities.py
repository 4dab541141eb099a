"""Whom a quota is for: a user, a client id, both together, or an address; by name or by default.

A default holds for each one that has no quota of its own, and each of them has it to itself.
"""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from headrace.model.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

USER, CLIENT_ID, IP = "user", "client-id", "ip"
KINDS = frozenset({USER, CLIENT_ID, IP})
NAME_CHARACTERS_MAX = 1_000


class Default(Enum):
    """Stands where a name could: whoever is not named elsewhere."""

    DEFAULT = "<default>"


DEFAULT: Final = Default.DEFAULT
Name = str | Default
"""The name of a user, a client id or an address, or what holds for all without a quota."""


class QuotaEntity(NamedTuple):
    """None: this part does not matter."""

    user: Name | None = None
    client_id: Name | None = None
    ip: Name | None = None

    def parts(self) -> dict[str, Name]:
        """What is set, by the names of the protocol."""
        named = {USER: self.user, CLIENT_ID: self.client_id, IP: self.ip}
        return {kind: name for kind, name in named.items() if name is not None}


def entity_of(parts: Mapping[str, Name]) -> QuotaEntity:
    """From the names of the protocol; InvalidRequest if there can be no such entity."""
    unknown = parts.keys() - KINDS
    if unknown:
        raise InvalidRequest(f"quotas are for user, client-id and ip, not for {min(unknown)!r}")
    if not parts:
        raise InvalidRequest("a quota must be for somebody: give user, client-id or ip")
    if IP in parts and len(parts) > 1:
        raise InvalidRequest("a quota for an ip cannot name a user or a client id as well")
    for kind, name in parts.items():
        if isinstance(name, str) and not 0 < len(name) <= NAME_CHARACTERS_MAX:
            raise InvalidRequest(f"the name of a {kind} has 1 to {NAME_CHARACTERS_MAX} characters")
    address = parts.get(IP)
    if isinstance(address, str) and canonical_address(address) is None:
        raise InvalidRequest(f"{address!r} is no IP address (host names are not looked up)")
    return QuotaEntity(parts.get(USER), parts.get(CLIENT_ID), address)


def canonical_address(text: str) -> str | None:
    """One spelling for all ways to write the same address; None if it is none.

    An IPv4 client of a socket for both families is seen as ``::ffff:10.0.0.1``.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
