"""Broker options about quotas: over which time it is measured how much somebody takes."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.config import declare
from headrace.config.declare import LOW, SECONDS

_WINDOWS_MAX = 1_000
_WINDOW_SECONDS_MAX = 3_600


@dataclass(frozen=True, kw_only=True)
class QuotaSettings:
    """Part of ``BrokerConfig``."""

    quota_window_num: int = declare.integer(
        "quota.window.num",
        11,
        "Windows of time over which bytes, request time and connections are measured.",
        unit="windows",
        minimum=1,
        maximum=_WINDOWS_MAX,
        importance=LOW,
    )
    quota_window_size_seconds: int = declare.integer(
        "quota.window.size.seconds",
        1,
        "Length of each of these windows.",
        unit=SECONDS,
        minimum=1,
        maximum=_WINDOW_SECONDS_MAX,
        importance=LOW,
    )
    controller_quota_window_num: int = declare.integer(
        "controller.quota.window.num",
        11,
        "Windows of time whose worth of created and deleted partitions may come in one burst.",
        unit="windows",
        minimum=1,
        maximum=_WINDOWS_MAX,
        importance=LOW,
    )
    controller_quota_window_size_seconds: int = declare.integer(
        "controller.quota.window.size.seconds",
        1,
        "Length of each of these windows.",
        unit=SECONDS,
        minimum=1,
        maximum=_WINDOW_SECONDS_MAX,
        importance=LOW,
    )
