"""What serve is started with."""

from __future__ import annotations

import pytest

from headrace.config.listeners import Listener
from headrace.config.serve import PROCESS_OPTIONS, SERVE_OPTIONS, ServeSettings
from headrace.model.errors import InvalidConfig


def test_defaults_are_loopback_over_data() -> None:
    settings = ServeSettings.resolve({})
    assert settings.data_directory == "data"
    assert settings.listeners == (
        Listener("kafka", "127.0.0.1", 9092),
        Listener("http", "127.0.0.1", 8080, is_optional=True),
    )
    assert (settings.log_format, settings.log_level) == ("text", "info")
    assert not settings.allow_remote


def test_process_and_broker_settings_are_told_apart() -> None:
    settings = ServeSettings.resolve(
        {"data": "here", "listen": "kafka://127.0.0.1:0", "num.partitions": "3"}
    )
    assert settings.data_directory == "here"
    assert settings.broker_settings == {"num.partitions": "3", "log.dirs": "here"}


def test_listener_that_was_asked_for_is_not_optional() -> None:
    settings = ServeSettings.resolve({"listen": "kafka://127.0.0.1:0,http://127.0.0.1:0"})
    assert not any(listener.is_optional for listener in settings.listeners)


def test_kafkas_name_for_the_data_directory_is_taken() -> None:
    settings = ServeSettings.resolve({"log.dirs": "there"})
    assert settings.data_directory == "there"
    assert ServeSettings.resolve({"data": "x", "log.dirs": "x"}).data_directory == "x"


def test_no_name_belongs_to_both() -> None:
    assert len(SERVE_OPTIONS) > len(PROCESS_OPTIONS) > 0
    assert "num.partitions" not in PROCESS_OPTIONS


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num.partition": "1"}, "did you mean num.partitions"),
        ({"num.partitions": "x"}, "num.partitions=x"),
        ({"log.format": "xml"}, "one of text, json"),
        ({"listen": "kafka://10.0.0.1:1"}, "--allow-remote"),
        ({"log.dirs": "a,b"}, "expected one directory"),
        ({"log.dirs": ""}, "expected one directory"),
        ({"log.dirs": "a", "data": "b"}, "give one of them"),
    ],
)
def test_mistakes_are_found_before_the_start(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        ServeSettings.resolve(settings)


def test_consent_to_remote_listeners_is_a_setting() -> None:
    settings = ServeSettings.resolve({"listen": "kafka://10.0.0.1:1", "allow.remote": "true"})
    assert settings.allow_remote
