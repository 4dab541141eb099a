"""What broker and job do and cost from one look to the next."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.process.resources import cpu_seconds, resident_megabytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from soak.pipeline.driver_process import DriverProcess


class Gauge:
    """Turns counters into rates."""

    def __init__(self, broker_pid: int) -> None:
        self._broker_pid = broker_pid
        self._last_s = time.monotonic()
        self._last_counts = 0, 0
        self._last_broker_cpu_s = cpu_seconds(broker_pid)
        self._last_job_cpu_s: Mapping[int, float] = {}

    def look(
        self, driver: DriverProcess | None, acknowledged: int, records: int
    ) -> dict[str, float]:
        """By the names that a sample has for them."""
        now_s = time.monotonic()
        passed_s = now_s - self._last_s
        broker_cpu_s = cpu_seconds(self._broker_pid)
        job_cpu_s, job_megabytes = job_usage(driver)
        job_used_s = sum(
            used - self._last_job_cpu_s.get(pid, 0.0) for pid, used in job_cpu_s.items()
        )
        rates = {
            "produced_per_second": (acknowledged - self._last_counts[0]) / passed_s,
            "written_per_second": (records - self._last_counts[1]) / passed_s,
            "broker_cpu_percent": 100 * (broker_cpu_s - self._last_broker_cpu_s) / passed_s,
            "job_cpu_percent": 100 * job_used_s / passed_s,
            "broker_megabytes": resident_megabytes(self._broker_pid),
            "job_megabytes": job_megabytes,
        }
        self._last_s, self._last_counts = now_s, (acknowledged, records)
        self._last_broker_cpu_s, self._last_job_cpu_s = broker_cpu_s, job_cpu_s
        return rates


def job_usage(driver: DriverProcess | None) -> tuple[dict[int, float], float]:
    """CPU seconds of each process of the job, and the memory of all together."""
    cpu_s: dict[int, float] = {}
    megabytes = 0.0
    for process in driver.processes() if driver is not None else ():
        try:
            cpu_s[process.pid] = cpu_seconds(process.pid)
            megabytes += resident_megabytes(process.pid)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended while we looked
    return cpu_s, megabytes
