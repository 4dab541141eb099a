"""The quotas that are set, and which of them holds for a client.

As in Kafka the most specific one wins: a named user before a default one, a user with a client id
before the user alone, and any quota of the user before one of the client id. ``set`` takes what the
metadata log says, whoever wrote it; ``raise_if_invalid`` is for what somebody wants to write.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import InvalidRequest
from headrace.quotas.entities import DEFAULT, QuotaEntity, canonical_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

OF_CLIENTS = frozenset(
    {PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE}
)
OF_ADDRESSES = frozenset({CONNECTION_CREATION_RATE})
WHOLE_NUMBERS_MAX = {
    PRODUCER_BYTE_RATE: 2**63 - 1,
    CONSUMER_BYTE_RATE: 2**63 - 1,
    CONNECTION_CREATION_RATE: 2**31 - 1,
}
WHOLE_NUMBER_TOLERANCE = 1e-6
ENTITIES_MAX = 100_000
RESOLVED_MAX = 10_000
"""Clients whose quotas are remembered, so that they need not be looked for with each request."""


class Limit(NamedTuple):
    """How much, and who shares it: clients with the same ``account`` are counted together."""

    value: float
    account: QuotaEntity


class QuotaLimits:
    """All quotas of the cluster, by entity and by name."""

    def __init__(self) -> None:
        self._values: dict[QuotaEntity, dict[str, float]] = {}
        self._resolved: dict[tuple[str, str | None, str | None], Limit | None] = {}
        self._by_address: dict[str, QuotaEntity] | None = None
        """By the one spelling of each address; None: to be made when somebody asks."""

    # --- changing -------------------------------------------------------------------------------

    def set(self, entity: QuotaEntity, name: str, value: float | None) -> None:
        """None takes the quota away."""
        self._resolved.clear()
        if entity.ip is not None:
            self._by_address = None
        if value is not None:
            self._values.setdefault(entity, {})[name] = value
            return
        values = self._values.get(entity, {})
        values.pop(name, None)
        if not values:
            self._values.pop(entity, None)

    # --- asking ---------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[tuple[QuotaEntity, Mapping[str, float]]]:
        return iter(self._values.items())

    def __len__(self) -> int:
        return len(self._values)

    def of_entity(self, entity: QuotaEntity) -> Mapping[str, float]:
        """What is set for exactly this entity."""
        return self._values.get(entity, {})

    def of_client(self, name: str, user: str, client_id: str) -> Limit | None:
        """The quota that holds for a request; None if there is none."""
        if not self._values:
            return None
        key = (name, user, client_id)
        try:
            return self._resolved[key]
        except KeyError:
            return self._remember(key, self._find(name, _candidates(user, client_id)))

    def of_address(self, address: str) -> Limit | None:
        """The quota of new connections from there; None if there is none."""
        if not self._values:
            return None
        key = (CONNECTION_CREATION_RATE, address, None)
        if key in self._resolved:
            return self._resolved[key]
        wanted = canonical_address(address) or address
        account = QuotaEntity(ip=wanted)
        named = self._addresses().get(wanted, account)
        candidates = [(named, account), (QuotaEntity(ip=DEFAULT), account)]
        return self._remember(key, self._find(CONNECTION_CREATION_RATE, candidates))

    def _addresses(self) -> dict[str, QuotaEntity]:
        if self._by_address is None:
            self._by_address = {
                canonical_address(entity.ip) or entity.ip: entity
                for entity in self._values
                if isinstance(entity.ip, str)
            }
        return self._by_address

    def _remember(
        self, key: tuple[str, str | None, str | None], limit: Limit | None
    ) -> Limit | None:
        if len(self._resolved) >= RESOLVED_MAX:
            self._resolved.clear()
        self._resolved[key] = limit
        return limit

    def _find(self, name: str, candidates: list[tuple[QuotaEntity, QuotaEntity]]) -> Limit | None:
        for entity, account in candidates:
            value = self._values.get(entity, {}).get(name)
            if value is not None and value > 0:  # older brokers let a zero into the log
                return Limit(value, account)
        return None


def _candidates(user: str, client_id: str) -> list[tuple[QuotaEntity, QuotaEntity]]:
    """Entities in the order in which they are asked, each with whom it counts together."""
    both = QuotaEntity(user, client_id)
    alone, client = QuotaEntity(user), QuotaEntity(client_id=client_id)
    return [
        (both, both),
        (QuotaEntity(user, DEFAULT), both),
        (alone, alone),
        (QuotaEntity(DEFAULT, client_id), both),
        (QuotaEntity(DEFAULT, DEFAULT), both),
        (QuotaEntity(DEFAULT), alone),
        (client, client),
        (QuotaEntity(client_id=DEFAULT), client),
    ]


def raise_if_invalid(entity: QuotaEntity, name: str, value: float) -> None:
    """InvalidRequest with a reason that a user can act on."""
    known = OF_ADDRESSES if entity.ip is not None else OF_CLIENTS
    if name not in known:
        raise InvalidRequest(f"{name!r} is no quota of this entity: choose from {sorted(known)}")
    if not math.isfinite(value) or value <= 0:
        raise InvalidRequest(f"{name} must be a number above zero, not {value}")
    if name in WHOLE_NUMBERS_MAX:
        if abs(value - round(value)) > WHOLE_NUMBER_TOLERANCE:
            raise InvalidRequest(f"{name} must be a whole number, not {value}")
        if value > WHOLE_NUMBERS_MAX[name]:
            raise InvalidRequest(f"{name} must be at most {WHOLE_NUMBERS_MAX[name]}, not {value}")
