"""Clients, topics and groups that come and go for as long as the long run takes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from tests.wire.raw_client import RawClient

from . import topics
from .load import GroupPlan, Load, LoadPlan
from .producer import ProducerPlan

if TYPE_CHECKING:
    from .load import Surroundings

LIFE_SECONDS = 4.0
PAUSE_SECONDS = 1.0
STOP_SECONDS_MAX = 120.0
CONNECTIONS_PER_LIFE = 20
API_VERSIONS, API_VERSIONS_VERSION = 18, 0
PROTOCOLS = ("classic", "cooperative", "consumer")


def visitor_plan(number: int) -> LoadPlan:
    """A topic of its own, two groups of different kinds, and two producers."""
    topic = topics.plain(f"visit-{number}", 3)
    first, second = (PROTOCOLS[(number + shift) % len(PROTOCOLS)] for shift in (0, 1))
    return LoadPlan(
        (topic,),
        tuple(
            ProducerPlan(f"visitor-{number}-{part}", (topic,), 100, settings={"linger.ms": 5})
            for part in range(2)
        ),
        (
            GroupPlan(f"visitors-{number}-a", first, 1, (topic,)),
            GroupPlan(f"visitors-{number}-b", second, 2, (topic,)),
        ),
    )


class Churn(threading.Thread):
    """One visit after the other, each checked to its last record before its topic goes."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__(name="churn", daemon=True)
        self._shared = surroundings
        self._stopping = threading.Event()
        self.visits = 0
        self.connections = 0
        self.failures: list[str] = []

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._visit()
            except Exception as error:
                self.failures.append(f"visit {self.visits}: {error!r}")
                return
            self.visits += 1

    def finish(self) -> None:
        self._stopping.set()
        self.join(STOP_SECONDS_MAX)
        if self.is_alive():
            self.failures.append("the last visit does not end")

    def _visit(self) -> None:
        load = Load(self._shared, visitor_plan(self.visits))
        load.start()
        self._connect_and_leave()
        self._stopping.wait(LIFE_SECONDS)
        load.finish()
        self.failures += load.failures
        load.delete()
        self._stopping.wait(PAUSE_SECONDS)

    def _connect_and_leave(self) -> None:
        port = int(self._shared.bootstrap_servers.rsplit(":", 1)[1])
        for _ in range(CONNECTIONS_PER_LIFE):
            with RawClient(port) as client:
                answer = client.call(API_VERSIONS, API_VERSIONS_VERSION, ApiVersionsRequest())
                assert answer.error_code == 0
            self.connections += 1
