"""The four ways from a topic to Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench.peers import HEADRACE, KAFKA, PeerName

Reader = Literal["engine", "headrace", "kafka", "ready", "parquet"]


@dataclass(frozen=True)
class Route:
    """Who reads, and from which broker. A connector is what the bars compare with."""

    name: str
    title: str
    reader: Reader
    peer: PeerName
    colour: str

    @property
    def is_connector(self) -> bool:
        return self.reader == "kafka"


ENGINE = Route("engine", "Headrace's engine", "engine", HEADRACE, "#1b6ca8")
SOURCE = Route("source", 'format("headrace")', "headrace", HEADRACE, "#5fa8d3")
CONNECTOR = Route("connector", 'format("kafka") on Headrace', "kafka", HEADRACE, "#8a97a3")
CONNECTOR_ON_KAFKA = Route(
    "connector-kafka", 'format("kafka") on Apache Kafka', "kafka", KAFKA, "#c7803c"
)
ROUTES = (ENGINE, SOURCE, CONNECTOR, CONNECTOR_ON_KAFKA)
BY_NAME = {route.name: route for route in ROUTES}

READY = Route("ready", "a Python source with ready batches", "ready", HEADRACE, "#b0b0b0")
PARQUET = Route("parquet", "Spark's reader of the engine's files", "parquet", HEADRACE, "#b0b0b0")
CEILING_ROUTES = (READY, PARQUET)
"""Not from a topic: what `bench.lake.source_ceiling` compares with."""
