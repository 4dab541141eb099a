"""How many connections there are, over all and from each address, and when there are too many.

A connection counts from the moment it is accepted: also while it shakes hands over TLS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


class Admission:
    """The counts of one listener."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._count = 0
        self._by_host: dict[str, int] = {}

    def enter(self, host: str) -> str | None:
        """Count a new connection; the reason if it must be refused, and is not counted."""
        metrics = self._broker.metrics
        refusal = self._refusal(host)
        if refusal is not None:
            metrics.connections_refused += 1
            return refusal
        self._count += 1
        self._by_host[host] = self._by_host.get(host, 0) + 1
        metrics.connections_opened += 1
        return None

    def _refusal(self, host: str) -> str | None:
        config = self._broker.config
        if self._count >= config.max_connections:
            return f"max.connections={config.max_connections} reached"
        if self._by_host.get(host, 0) >= config.max_connections_per_ip:
            return f"max.connections.per.ip={config.max_connections_per_ip} reached"
        quotas = self._broker.quotas
        if quotas.is_active and quotas.connection_delay_ms(host):
            return "the quota connection_creation_rate of this address is used up"
        return None

    def leave(self, host: str) -> None:
        """A connection that was counted has ended."""
        self._count -= 1
        count = self._by_host[host] - 1
        if count:
            self._by_host[host] = count
        else:
            del self._by_host[host]
        self._broker.metrics.connections_closed += 1

    def __len__(self) -> int:
        return self._count
