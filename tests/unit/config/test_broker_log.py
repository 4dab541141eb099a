"""The broker's options about logs."""

from __future__ import annotations

from headrace.config.broker_log import LogSettings
from headrace.config.declare import catalogue


def test_coarse_units_stand_in_for_milliseconds_that_are_not_set() -> None:
    settings = LogSettings()
    assert settings.log_retention_ms is None
    assert settings.log_retention_hours == settings.log_roll_hours == 168


def test_everything_that_topics_inherit_in_its_finest_unit_is_dynamic() -> None:
    coarse = {"log.roll.hours", "log.roll.jitter.hours", "log.retention.minutes"}
    coarse |= {"log.retention.hours", "log.flush.scheduler.interval.ms"}
    process_wide = {"log.cleaner.enable", "log.retention.check.interval.ms"}
    process_wide |= {"log.initial.task.delay.ms"}
    process_wide |= {f"log.flush.{what}offset.checkpoint.interval.ms" for what in ("", "start.")}
    static = {name for name, option in catalogue(LogSettings).items() if not option.dynamic}
    assert static == coarse | process_wide
