"""The broker's options about connections."""

from __future__ import annotations

from headrace.config.broker_network import NetworkSettings
from headrace.config.declare import catalogue
from headrace.config.option import Kind


def test_every_limit_has_a_lower_bound() -> None:
    numbers = [o for o in catalogue(NetworkSettings).values() if o.kind in (Kind.INT, Kind.LONG)]
    assert numbers
    assert all(option.minimum is not None for option in numbers)


def test_buffered_answers_hold_less_than_the_largest_request() -> None:
    settings = NetworkSettings()
    assert settings.connection_buffered_bytes_max < settings.socket_request_max_bytes
