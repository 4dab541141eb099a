"""Options about who may connect; above all, that no secret is shown anywhere."""

from __future__ import annotations

import pytest

from headrace.config.broker import BROKER_OPTIONS, BrokerConfig
from headrace.config.broker_security import (
    SECURITY_OPTIONS,
    USERS_MAX,
    SecuritySettings,
    parse_users,
    security_settings,
)
from headrace.config.describe import describe_broker
from headrace.config.load import from_flags
from headrace.config.option import Kind
from headrace.config.serve import ServeSettings
from headrace.model.errors import InvalidConfig

SECRETS = {"ssl.key.password": "hunter2", "headrace.sasl.users": "alice:hunter2"}


def test_passwords_are_declared_as_such() -> None:
    passwords = {name for name, option in BROKER_OPTIONS.items() if option.kind is Kind.PASSWORD}
    assert passwords == set(SECRETS)
    assert all(BROKER_OPTIONS[name].sensitive for name in passwords)
    assert all(BROKER_OPTIONS[name].default is None for name in passwords)


def test_no_description_has_a_secret() -> None:
    entries = describe_broker(BrokerConfig.resolve(SECRETS))
    assert "hunter2" not in repr(entries)
    described = {entry.name: entry for entry in entries}
    for name in SECRETS:
        assert described[name].is_sensitive
        assert described[name].value is None
        assert [synonym.value for synonym in described[name].synonyms] == [None]


def test_no_representation_has_a_secret() -> None:
    settings = ServeSettings.resolve({**SECRETS, "listen": "kafka+sasl://127.0.0.1:0"})
    assert settings.listeners[0].security.sasl_users == "alice:hunter2"
    for value in (settings, settings.listeners, settings.listeners[0].security):
        assert "hunter2" not in repr(value)
    assert "hunter2" not in repr(BrokerConfig.resolve(SECRETS))


def test_no_refusal_has_a_secret() -> None:
    with pytest.raises(InvalidConfig) as caught:
        from_flags(["ssl.key.pasword=hunter2"])
    assert "ssl.key.password" in caught.value.message
    assert "hunter2" not in caught.value.message
    with pytest.raises(InvalidConfig) as caught:
        parse_users("hunter2")
    assert "hunter2" not in caught.value.message


def test_defaults_are_kafkas_or_safe() -> None:
    settings = SecuritySettings()
    assert settings.ssl_enabled_protocols == {"TLSv1.2", "TLSv1.3"}
    assert settings.sasl_enabled_mechanisms == ("SCRAM-SHA-256", "SCRAM-SHA-512")
    assert settings.ssl_client_auth == "none"
    assert settings.connection_failed_authentication_delay_ms == 100


def test_later_layer_wins_and_other_names_are_passed_over() -> None:
    settings = security_settings(
        {"ssl.client.auth": "required", "num.partitions": "x"}, {"ssl.client.auth": "none"}
    )
    assert settings.ssl_client_auth == "none"
    assert "num.partitions" not in SECURITY_OPTIONS


@pytest.mark.parametrize(
    "setting",
    [
        {"ssl.enabled.protocols": "TLSv1.1"},
        {"ssl.keystore.type": "JKS"},
        {"sasl.enabled.mechanisms": "GSSAPI"},
        {"ssl.client.auth": "yes"},
        {"connections.max.reauth.ms": "-1"},
    ],
)
def test_what_is_not_there_is_refused(setting: dict[str, str]) -> None:
    with pytest.raises(InvalidConfig):
        security_settings(setting)


def test_users_are_pairs_of_name_and_password() -> None:
    assert parse_users(None) == {} == parse_users("")
    assert parse_users("alice:a:b, bob:c") == {"alice": "a:b", "bob": "c"}


@pytest.mark.parametrize("text", ["alice", "alice:", ":x", "a:x,a:y"])
def test_users_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"headrace\.sasl\.users"):
        parse_users(text)


def test_number_of_users_is_limited() -> None:
    with pytest.raises(InvalidConfig, match="at most"):
        parse_users(",".join(f"user{number}:x" for number in range(USERS_MAX + 1)))
