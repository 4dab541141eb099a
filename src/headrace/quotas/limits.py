"""The quotas that are set, and which of them holds for a client.

As in Kafka the most specific one wins: a named user before a default one, a user with a client id
before the user alone, and any quota of the user before one of the client id.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from headrace.model.errors import InvalidRequest, LimitReached
from headrace.quotas.entities import DEFAULT, QuotaEntity

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
WHOLE_NUMBERS = frozenset({PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, CONNECTION_CREATION_RATE})
ENTITIES_MAX = 100_000


class Limit(NamedTuple):
    """How much, and who shares it: clients with the same ``account`` are counted together."""

    value: float
    account: QuotaEntity


class QuotaLimits:
    """All quotas of the cluster, by entity and by name."""

    def __init__(self) -> None:
        self._values: dict[QuotaEntity, dict[str, float]] = {}
        self._resolved: dict[tuple[str, str | None, str | None], Limit | None] = {}

    # --- changing -------------------------------------------------------------------------------

    def set(self, entity: QuotaEntity, name: str, value: float | None) -> None:
        """None takes the quota away."""
        if value is None:
            values = self._values.get(entity, {})
            values.pop(name, None)
            if not values:
                self._values.pop(entity, None)
        else:
            raise_if_invalid(entity, name, value)
            if entity not in self._values and len(self._values) >= ENTITIES_MAX:
                raise LimitReached(f"there are quotas for {ENTITIES_MAX} entities already")
            self._values.setdefault(entity, {})[name] = float(value)
        self._resolved.clear()

    def __iter__(self) -> Iterator[tuple[QuotaEntity, Mapping[str, float]]]:
        return iter(self._values.items())

    def __len__(self) -> int:
        return len(self._values)

    # --- asking ---------------------------------------------------------------------------------

    def of_client(self, name: str, user: str, client_id: str) -> Limit | None:
        """The quota that holds for a request; None if there is none."""
        if not self._values:
            return None
        key = (name, user, client_id)
        if key not in self._resolved:
            if len(self._resolved) >= ENTITIES_MAX:
                self._resolved.clear()
            self._resolved[key] = self._find(name, _candidates(user, client_id))
        return self._resolved[key]

    def of_address(self, ip: str) -> Limit | None:
        if not self._values:
            return None
        account = QuotaEntity(ip=ip)
        candidates = [(account, account), (QuotaEntity(ip=DEFAULT), account)]
        return self._find(CONNECTION_CREATION_RATE, candidates)

    def _find(self, name: str, candidates: list[tuple[QuotaEntity, QuotaEntity]]) -> Limit | None:
        for entity, account in candidates:
            value = self._values.get(entity, {}).get(name)
            if value is not None:
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
    if not math.isfinite(value) or value < 0 or (value == 0 and name not in OF_ADDRESSES):
        raise InvalidRequest(f"{name} must be a number above zero, not {value}")
    if name in WHOLE_NUMBERS and value != int(value):
        raise InvalidRequest(f"{name} must be a whole number, not {value}")
