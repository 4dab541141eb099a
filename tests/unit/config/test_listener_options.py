"""Settings of one listener."""

from __future__ import annotations

import pytest

from headrace.config.listener_options import ListenerSettings, canonical_name, split
from headrace.config.load import from_environment, from_flags, from_toml
from headrace.config.serve import ServeSettings
from headrace.model.errors import InvalidConfig

SECURE = "kafka+ssl://127.0.0.1:0?name=inside,kafka+ssl://127.0.0.1:0?name=outside"


@pytest.mark.parametrize(
    ("setting", "name", "option"),
    [
        ("listener.name.outside.ssl.client.auth", "outside", "ssl.client.auth"),
        ("listener.name.OUTSIDE.ssl.client.auth", "outside", "ssl.client.auth"),
        ("listener.name.sasl_ssl.ssl.client.auth", "sasl_ssl", "ssl.client.auth"),
        ("listener.name.sasl.ssl.ssl.client.auth", "sasl_ssl", "ssl.client.auth"),
        ("listener.name.a.ssl.key.location", "a", "headrace.ssl.key.location"),
        ("listener.name.a.headrace.sasl.users", "a", "headrace.sasl.users"),
    ],
)
def test_name_and_option_are_told_apart(setting: str, name: str, option: str) -> None:
    found, declared = split(setting)
    assert (found, declared.name) == (name, option)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("listener.name.a.ssl.client.auths", r"did you mean listener\.name\.a\.ssl\.client\.auth"),
        ("listener.name.a.num.partitions", "no such option"),
        ("listener.name.ssl.client.auth", "no such option"),
        ("listener.name.", "no such option"),
        ("listener.name.a b.ssl.client.auth", "cannot be the name"),
    ],
)
def test_what_is_no_setting_of_a_listener_is_refused(setting: str, message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        canonical_name(setting)


def test_own_setting_wins_over_the_one_for_all() -> None:
    settings = ListenerSettings(
        {
            "ssl.client.auth": "required",
            "connections.max.reauth.ms": "5",
            "listener.name.inside.ssl.client.auth": "none",
            "num.partitions": "3",
        }
    )
    assert settings.of("inside").ssl_client_auth == "none"
    assert settings.of("inside").connections_max_reauth_ms == 5
    assert settings.of("outside").ssl_client_auth == "required"


def test_each_place_of_settings_takes_them() -> None:
    expected = {"listener.name.my_own.ssl.client.auth": "none"}
    assert from_flags(["listener.name.my_own.ssl.client.auth=none"]) == expected
    assert from_environment({"HEADRACE_LISTENER_NAME_MY_OWN_SSL_CLIENT_AUTH": "none"}) == expected
    assert from_toml('[listener.name.my_own.ssl.client]\nauth = "none"') == expected


def test_listeners_of_a_server_get_their_own_settings() -> None:
    settings = ServeSettings.resolve(
        {
            "listen": SECURE,
            "ssl.keystore.location": "server.pem",
            "listener.name.outside.ssl.keystore.location": "other.pem",
        }
    )
    inside, outside = settings.listeners
    assert inside.security.ssl_keystore_location == "server.pem"
    assert outside.security.ssl_keystore_location == "other.pem"
    assert "listener.name.outside.ssl.keystore.location" not in settings.broker_settings


def test_setting_for_a_listener_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="no such listener; there are: http, plaintext"):
        ServeSettings.resolve({"listener.name.outside.ssl.client.auth": "none"})


def test_bad_value_is_refused_by_name() -> None:
    with pytest.raises(InvalidConfig, match=r"ssl\.client\.auth=maybe"):
        ServeSettings.resolve({"listener.name.plaintext.ssl.client.auth": "maybe"})
