"""How each client is told to connect securely, and one round trip by each.

As a program it does this for one client and many ways: a process of its own, since the libraries
leave sockets and threads behind. See ``main`` for what it reads and prints.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import confluent_kafka
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPartition
from aiokafka.abc import AbstractTokenProvider as AioTokenProvider

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python warns about itself
    import kafka
    from kafka.net.sasl.oauth import AbstractTokenProvider

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 20.0


@dataclass(frozen=True)
class Access:
    """What a client needs to get in."""

    protocol: str
    mechanism: str = ""
    user: str = "alice"
    password: str = "secret"
    token: str = ""
    authority_file: str = ""
    client_file: str = ""
    patience_s: float = PATIENCE_S
    """How long to try where the client itself would go on and on."""

    @property
    def uses_tls(self) -> bool:
        return self.protocol.endswith("SSL")


class Refused(Exception):
    """The client did not get in; its words."""


def by_librdkafka(bootstrap: str, access: Access, topic: str, value: bytes) -> bytes | None:
    errors: list[Any] = []
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "security.protocol": access.protocol,
        "error_cb": errors.append,
        "log_level": 0,
    }
    if access.uses_tls:
        settings["ssl.ca.location"] = access.authority_file
    if access.client_file:
        settings["ssl.certificate.location"] = access.client_file
        settings["ssl.key.location"] = access.client_file
    if access.mechanism:
        settings["sasl.mechanisms"] = access.mechanism
    if access.token:
        settings["oauth_cb"] = lambda _: (access.token, time.time() + 3600)
    elif access.mechanism:
        settings |= {"sasl.username": access.user, "sasl.password": access.password}
    delivered: list[Any] = []
    producer = confluent_kafka.Producer(settings)
    producer.produce(topic, value, on_delivery=lambda error, message: delivered.append(message))
    deadline = time.monotonic() + access.patience_s
    while not delivered:
        producer.poll(0.05)
        final = [error for error in errors if error.name() in ("_AUTHENTICATION", "_SSL")]
        if final or time.monotonic() > deadline:
            producer.purge()
            raise Refused(str(final or errors))
    consumer = confluent_kafka.Consumer(settings | {"group.id": "unused"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, delivered[0].offset())])
    message = consumer.poll(PATIENCE_S)
    consumer.close()
    return None if message is None else message.value()


class _GivenToken(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, text: str) -> None:
        self._text = text

    def token(self) -> str:
        return self._text


def by_kafka_python(bootstrap: str, access: Access, topic: str, value: bytes) -> bytes | None:
    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "security_protocol": access.protocol,
    }
    if access.uses_tls:
        settings["ssl_cafile"] = access.authority_file
    if access.client_file:
        settings |= {"ssl_certfile": access.client_file, "ssl_keyfile": access.client_file}
    if access.mechanism:
        settings["sasl_mechanism"] = access.mechanism
    if access.token:
        settings["sasl_oauth_token_provider"] = _GivenToken(access.token)
    elif access.mechanism:
        settings["sasl_plain_username"] = access.user
        settings["sasl_plain_password"] = access.password
    try:
        patience_ms = int(access.patience_s * 1000)
        producer = kafka.KafkaProducer(**settings, bootstrap_timeout_ms=patience_ms)
        try:
            offset = producer.send(topic, value).get(PATIENCE_S).offset
        finally:
            producer.close(1)
    except kafka.errors.KafkaError as error:
        raise Refused(repr(error)) from error
    consumer = kafka.KafkaConsumer(**settings)
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, offset)
    batches = consumer.poll(timeout_ms=PATIENCE_S * 1000)
    consumer.close()
    return batches[partition][0].value if batches else None


class _AioToken(AioTokenProvider):  # type: ignore[misc]
    def __init__(self, text: str) -> None:
        self._text = text

    async def token(self) -> str:
        return self._text


def by_aiokafka(bootstrap: str, access: Access, topic: str, value: bytes) -> bytes | None:
    return asyncio.run(_by_aiokafka(bootstrap, access, topic, value))


async def _by_aiokafka(bootstrap: str, access: Access, topic: str, value: bytes) -> bytes | None:
    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "security_protocol": access.protocol,
    }
    if access.uses_tls:
        context = ssl.create_default_context(cafile=access.authority_file)
        if access.client_file:
            context.load_cert_chain(access.client_file)
        settings["ssl_context"] = context
    if access.mechanism:
        settings["sasl_mechanism"] = access.mechanism
    if access.token:
        settings["sasl_oauth_token_provider"] = _AioToken(access.token)
    elif access.mechanism:
        settings["sasl_plain_username"] = access.user
        settings["sasl_plain_password"] = access.password
    producer = AIOKafkaProducer(**settings)
    try:
        await producer.start()
        offset = (await producer.send_and_wait(topic, value)).offset
    except OSError as error:
        raise Refused(repr(error)) from error
    except Exception as error:
        if type(error).__module__ != "aiokafka.errors":
            raise
        raise Refused(repr(error)) from error
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(**settings)
    await consumer.start()
    partition = AioPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek(partition, offset)
    try:
        message = await asyncio.wait_for(consumer.getone(), PATIENCE_S)
    finally:
        await consumer.stop()
    return bytes(message.value)


CLIENTS: dict[str, Callable[[str, Access, str, bytes], bytes | None]] = {
    "librdkafka": by_librdkafka,
    "kafka-python": by_kafka_python,
    "aiokafka": by_aiokafka,
}


def java_properties(bootstrap: str, access: Access) -> dict[str, str]:
    """The settings of a Java client."""
    properties = {"bootstrap.servers": bootstrap, "security.protocol": access.protocol}
    if access.uses_tls:
        properties["ssl.truststore.type"] = "PEM"
        properties["ssl.truststore.location"] = access.authority_file
    if access.client_file:
        properties["ssl.keystore.type"] = "PEM"
        properties["ssl.keystore.location"] = access.client_file
    if not access.mechanism:
        return properties
    properties["sasl.mechanism"] = access.mechanism
    package = "org.apache.kafka.common.security"
    if access.token:
        properties["sasl.login.callback.handler.class"] = "GivenToken"
        module = f'{package}.oauthbearer.OAuthBearerLoginModule required token="{access.token}"'
    else:
        kind = "plain.Plain" if access.mechanism == "PLAIN" else "scram.Scram"
        module = (
            f"{package}.{kind}LoginModule required"
            f' username="{access.user}" password="{access.password}"'
        )
    return properties | {"sasl.jaas.config": f"{module};"}


def main() -> None:
    """Reads {"client", "topic", "ways": {name: [bootstrap, access]}}; prints a line for each way:
    [name, "ok" | "lost" | "refused", its words]."""
    wanted = json.load(sys.stdin)
    for name, (bootstrap, access) in wanted["ways"].items():
        value = f"{name} by {wanted['client']}".encode()
        words = ""
        try:
            read = CLIENTS[wanted["client"]](bootstrap, Access(**access), wanted["topic"], value)
            outcome = "ok" if read == value else "lost"
        except Refused as refusal:
            outcome, words = "refused", str(refusal)
        print(json.dumps([name, outcome, words]), flush=True)


if __name__ == "__main__":
    main()
