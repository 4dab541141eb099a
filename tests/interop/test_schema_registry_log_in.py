"""Confluent's client and our command line against a registry that asks for a password."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

pytest.importorskip("confluent_kafka.schema_registry")

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from headrace.cli.exit_codes import Failure
from headrace.cli.registry_client import RegistryClient
from headrace.testing import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.interop

SETTINGS = {
    "headrace.http.authentication.method": "BASIC",
    "headrace.sasl.users": "alice:p4ss@word",
    "connection.failed.authentication.delay.ms": "0",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(SETTINGS, http=True) as broker:
        yield broker


def test_client_with_its_password_registers_and_reads(broker: Broker) -> None:
    config = {"url": broker.http_url, "basic.auth.user.info": "alice:p4ss@word"}
    with SchemaRegistryClient(config) as client:
        schema_id = client.register_schema("s", Schema('"int"', "AVRO"))
        assert client.get_schema(schema_id).schema_str == '"int"'
        assert client.get_subjects() == ["s"]


@pytest.mark.parametrize("secret", [None, "alice:wrong", "bob:p4ss@word"])
def test_client_without_it_is_refused(broker: Broker, secret: str | None) -> None:
    config = {"url": broker.http_url}
    if secret is not None:
        config["basic.auth.user.info"] = secret
    with SchemaRegistryClient(config) as client:
        with pytest.raises(SchemaRegistryError) as caught:
            client.get_subjects()
        assert caught.value.http_status_code == 401
        assert caught.value.error_code == 401


def test_command_line_takes_the_password_from_the_url(broker: Broker) -> None:
    address = broker.http_url.removeprefix("http://")
    known = RegistryClient(f"http://alice:p4ss%40word@{address}", timeout_seconds=10)
    assert isinstance(known.call("GET", "/subjects"), list)
    with pytest.raises(Failure, match="401"):
        RegistryClient(broker.http_url, timeout_seconds=10).call("GET", "/subjects")
