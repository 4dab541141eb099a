"""Admin calls that wait for their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
)

from .clients import ANSWER_SECONDS_MAX, client_settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .topics import LoadTopic


class Administrator:
    """One admin client for the whole run, whatever becomes of the broker."""

    def __init__(self, bootstrap_servers: str) -> None:
        self.client = AdminClient(client_settings(bootstrap_servers))

    def create(self, topics: Iterable[LoadTopic]) -> None:
        new = [NewTopic(t.name, t.partitions, 1, config=t.settings) for t in topics]
        for future in self.client.create_topics(new).values():
            future.result(ANSWER_SECONDS_MAX)

    def delete(self, topics: Iterable[str]) -> None:
        for future in self.client.delete_topics(list(topics)).values():
            future.result(ANSWER_SECONDS_MAX)

    def delete_groups(self, groups: Iterable[str]) -> None:
        for future in self.client.delete_consumer_groups(list(groups)).values():
            future.result(ANSWER_SECONDS_MAX)
