"""What produce and consume as fast as it goes have in common: names, figures, which have bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from bench.figures import PAGE_CACHE, Figure

Client = Literal["librdkafka", "java"]
SETTINGS = {"linger.ms": 5}


@dataclass(frozen=True)
class Throughput:
    """One size of record, one number of partitions, one client."""

    verb: ClassVar[str]
    size: int
    partitions: int
    client: Client
    durability: str = PAGE_CACHE
    writes_bulk: bool = True

    @property
    def name(self) -> str:
        tool = "-java" if self.client == "java" else ""
        return f"{self.verb.lower()}-{self.size}B-{self.partitions}p{tool}"

    @property
    def title(self) -> str:
        noun = "partition" if self.partitions == 1 else "partitions"
        tool = "Java tool" if self.client == "java" else "librdkafka"
        return f"{self.verb} {self.size:,} B, {self.partitions} {noun}, {tool}"

    @property
    def is_quick(self) -> bool:
        """The bars are on these as well: one partition, librdkafka."""
        return self.partitions == 1 and self.client == "librdkafka"

    @property
    def rounds_max(self) -> int:
        if self.client == "java":
            return 2
        return 5 if self.is_quick else 3


def throughput_figures(
    size: int, rate_bar: float | None, cpu_bar: float | None
) -> tuple[Figure, Figure]:
    """Small records are counted, large ones weighed; the ratio is the same."""
    if size < 1_000:
        rate = Figure("rate", "records/s", "higher", rate_bar)
        return rate, Figure("broker CPU", "s per million records", "lower", cpu_bar)
    rate = Figure("rate", "MB/s", "higher", rate_bar)
    return rate, Figure("broker CPU", "s per GB", "lower", cpu_bar)


def throughput(
    size: int, count: int, records_per_second: float, cpu_seconds: float
) -> dict[str, float]:
    """The values of `throughput_figures`."""
    if size < 1_000:
        return {"rate": records_per_second, "broker CPU": cpu_seconds / count * 1e6}
    return {
        "rate": records_per_second * size / 1e6,
        "broker CPU": cpu_seconds / (count * size) * 1e9,
    }
