"""Builds the schema registry of a broker.

There is one for all HTTP listeners, since it is the one writer of its topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.schema_store import SchemaStore

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from headrace.broker.broker import Broker
    from headrace.environment.ports import Background


class Registry:
    """The store, and the application over it."""

    def __init__(self, broker: Broker, background: Background) -> None:
        from headrace.frontends.http.registry.application import registry_application

        self.store = SchemaStore(
            broker.store, broker.topics, broker.topic_changes, broker.logs, broker.clock, background
        )
        self.application: ASGIApp = registry_application(self.store, broker.access)

    def start(self) -> None:
        self.store.start()

    def close(self) -> None:
        self.store.close()
