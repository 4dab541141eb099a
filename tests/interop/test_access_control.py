"""Access rules and SCRAM users with confluent-kafka's admin client and the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from headrace.cli.main import main
from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.security import acl
from headrace.security.scram_credential import ScramMechanism as OurMechanism
from headrace.testing import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.interop

TIMEOUT_S = 20.0
ADMINISTRATED = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:ANONYMOUS",
}
GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER}
ANYTHING = AclBindingFilter(
    ResourceType.ANY,
    None,
    ResourcePatternType.ANY,
    None,
    None,
    AclOperation.ANY,
    AclPermissionType.ANY,
)


@pytest.fixture(scope="module")
def administrated() -> Iterator[Broker]:
    """Everybody on the plain listener is a super user."""
    with Broker(ADMINISTRATED) as broker:
        yield broker


@pytest.fixture
def admin(administrated: Broker) -> Iterator[AdminClient]:
    client = AdminClient({"bootstrap.servers": administrated.bootstrap_servers})
    yield client
    client.delete_acls([ANYTHING])[ANYTHING].result(TIMEOUT_S)


def rule(name: str, operation: AclOperation, **changes: Any) -> AclBinding:
    fields: dict[str, Any] = {
        "restype": ResourceType.TOPIC,
        "name": name,
        "resource_pattern_type": ResourcePatternType.LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": operation,
        "permission_type": AclPermissionType.ALLOW,
    }
    return AclBinding(**{**fields, **changes})


def code_of(error: BaseException) -> int:
    assert isinstance(error, KafkaException)
    code: int = error.args[0].code()
    return code


def test_rules_are_created_described_and_deleted(admin: AdminClient) -> None:
    wanted = [
        rule("orders", AclOperation.READ),
        rule("pay.", AclOperation.ALL, resource_pattern_type=ResourcePatternType.PREFIXED),
        rule("billing", AclOperation.READ, restype=ResourceType.GROUP),
        rule("kafka-cluster", AclOperation.ALTER, restype=ResourceType.BROKER),
        rule("orders", AclOperation.WRITE, permission_type=AclPermissionType.DENY),
    ]
    for future in admin.create_acls(wanted).values():
        assert future.result(TIMEOUT_S) is None
    assert set(admin.describe_acls(ANYTHING).result(TIMEOUT_S)) == set(wanted)
    topics = AclBindingFilter(
        ResourceType.TOPIC,
        "pay.card",
        ResourcePatternType.MATCH,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    assert admin.describe_acls(topics).result(TIMEOUT_S) == [wanted[1]]
    deleted = admin.delete_acls([topics])[topics].result(TIMEOUT_S)
    assert deleted == [wanted[1]]
    assert len(admin.describe_acls(ANYTHING).result(TIMEOUT_S)) == len(wanted) - 1


def test_rules_survive_a_restart(tmp_path: Path) -> None:
    wanted = rule("orders", AclOperation.READ)
    for is_first in (True, False):
        with Broker(ADMINISTRATED, directory=str(tmp_path)) as broker:
            client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
            if is_first:
                client.create_acls([wanted])[wanted].result(TIMEOUT_S)
            assert client.describe_acls(ANYTHING).result(TIMEOUT_S) == [wanted]


def test_broker_without_an_authorizer_says_so(headrace_broker: Broker) -> None:
    client = AdminClient({"bootstrap.servers": headrace_broker.bootstrap_servers})
    wanted = rule("orders", AclOperation.READ)
    # Its describe_acls passes over the error and lists nothing.
    calls = (
        client.create_acls([wanted])[wanted],
        client.delete_acls([ANYTHING])[ANYTHING],
    )
    for future in calls:
        with pytest.raises(KafkaException) as refused:
            future.result(TIMEOUT_S)
        assert code_of(refused.value) == KafkaError.SECURITY_DISABLED


def test_scram_credentials_are_set_described_and_deleted(
    admin: AdminClient, administrated: Broker
) -> None:
    changes = [
        UserScramCredentialUpsertion(
            "alice", ScramCredentialInfo(mechanism, 4096), b"a password of hers"
        )
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
    ]
    assert admin.alter_user_scram_credentials(changes)["alice"].result(TIMEOUT_S) is None
    described = admin.describe_user_scram_credentials(["alice"])["alice"].result(TIMEOUT_S)
    assert [(i.mechanism, i.iterations) for i in described.scram_credential_infos] == [
        (ScramMechanism.SCRAM_SHA_256, 4096),
        (ScramMechanism.SCRAM_SHA_512, 4096),
    ]
    for ours in OurMechanism:
        credential = administrated.call(
            lambda server, ours=ours: server.broker.credentials.scram("alice", ours)
        )
        assert credential is not None
        assert credential.is_password("a password of hers")
    deletion = UserScramCredentialDeletion("alice", ScramMechanism.SCRAM_SHA_256)
    assert admin.alter_user_scram_credentials([deletion])["alice"].result(TIMEOUT_S) is None
    with pytest.raises(KafkaException) as refused:
        admin.alter_user_scram_credentials([deletion])["alice"].result(TIMEOUT_S)
    assert code_of(refused.value) == KafkaError.RESOURCE_NOT_FOUND
    everybody = admin.describe_user_scram_credentials().result(TIMEOUT_S)
    assert list(everybody) == ["alice"]


def test_client_without_rights_is_told_so_by_its_library() -> None:
    with Broker(GUARDED) as broker:
        broker.create_topic("orders")
        address = {"bootstrap.servers": broker.bootstrap_servers}
        errors: list[Any] = []
        producer = Producer({**address, "message.timeout.ms": 5_000})
        producer.produce("orders", b"v", on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(TIMEOUT_S) == 0
        assert [error.code() for error in errors] == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
        consumer = Consumer({**address, "group.id": "billing"})
        consumer.subscribe(["orders"])
        message = consumer.poll(TIMEOUT_S)
        consumer.close()
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() in (
            KafkaError.TOPIC_AUTHORIZATION_FAILED,
            KafkaError.GROUP_AUTHORIZATION_FAILED,
        )


def test_idempotent_producer_needs_no_more_than_the_right_to_write() -> None:
    with Broker(GUARDED) as broker:
        broker.create_topic("orders")
        right = acl.AclBinding(
            acl.ResourceType.TOPIC,
            "orders",
            acl.PatternType.LITERAL,
            acl.ANONYMOUS,
            "*",
            acl.Operation.WRITE,
            acl.Permission.ALLOW,
        )
        broker.call(lambda server: server.broker.access.create([right]))  # type: ignore[union-attr]
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True}
        )
        errors: list[Any] = []
        producer.produce("orders", b"v", on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(TIMEOUT_S) == 0
        assert errors == [None]


# --- users that log in ---------------------------------------------------------------------------


PASSWORD = "a password of hers"


@pytest.fixture
def with_users() -> Iterator[Broker]:
    """Those on the plain listener administrate, those who log in need rules."""
    settings = {**ADMINISTRATED, "sasl.enabled.mechanisms": "SCRAM-SHA-512"}
    listeners = ["kafka://127.0.0.1:0", "kafka+sasl://127.0.0.1:0"]
    with Broker(settings, listeners=listeners) as broker:
        broker.create_topic("orders")
        broker.create_topic("payroll")
        client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion("alice", info, PASSWORD.encode())
        client.alter_user_scram_credentials([change])["alice"].result(TIMEOUT_S)
        rights = [
            rule("orders", AclOperation.ALL),
            rule("billing", AclOperation.READ, restype=ResourceType.GROUP),
        ]
        for future in client.create_acls(rights).values():
            future.result(TIMEOUT_S)
        yield broker


def as_alice(broker: Broker, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "bootstrap.servers": f"127.0.0.1:{broker.port_of('sasl_plaintext')}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        **settings,
    }


def sent(producer: Producer, topic: str) -> int:
    """The code of the delivery report."""
    errors: list[Any] = []
    producer.produce(topic, b"v", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    (error,) = errors
    return 0 if error is None else error.code()


def test_user_does_what_the_rules_say_and_stops_when_they_go(with_users: Broker) -> None:
    producer = Producer(as_alice(with_users, {"message.timeout.ms": 10_000}))
    assert sent(producer, "orders") == 0
    assert sent(producer, "payroll") == KafkaError.TOPIC_AUTHORIZATION_FAILED
    consumer = Consumer(
        as_alice(with_users, {"group.id": "billing", "auto.offset.reset": "earliest"})
    )
    consumer.subscribe(["orders"])
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    assert message.value() == b"v"
    client = AdminClient({"bootstrap.servers": with_users.bootstrap_servers})
    topics = AclBindingFilter(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.ANY,
        "User:alice",
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    assert len(client.delete_acls([topics])[topics].result(TIMEOUT_S)) == 1
    assert sent(producer, "orders") == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert sent(Producer({"bootstrap.servers": with_users.bootstrap_servers}), "orders") == 0
    refused = consumer.poll(TIMEOUT_S)
    consumer.close()
    assert refused is not None
    error = refused.error()
    assert error is not None
    assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_user_whose_credential_is_deleted_cannot_log_in_again(with_users: Broker) -> None:
    client = AdminClient({"bootstrap.servers": with_users.bootstrap_servers})
    deletion = UserScramCredentialDeletion("alice", ScramMechanism.SCRAM_SHA_512)
    client.alter_user_scram_credentials([deletion])["alice"].result(TIMEOUT_S)
    errors: list[int] = []
    producer = Producer(
        as_alice(
            with_users,
            {
                "message.timeout.ms": 1_500,
                "error_cb": lambda error: errors.append(error.code()),
            },
        )
    )
    assert sent(producer, "orders") != 0
    assert KafkaError._AUTHENTICATION in errors


# --- the command line ---------------------------------------------------------------------------


class Command:
    """Runs verbs against one broker, in this process."""

    def __init__(self, bootstrap: str, capture: pytest.CaptureFixture[str]) -> None:
        self._bootstrap = bootstrap
        self._capture = capture
        self.error = ""

    def __call__(self, *arguments: str, status: int = 0) -> Any:
        found = main([*arguments, "--json", "--bootstrap", self._bootstrap])
        captured = self._capture.readouterr()
        self.error = captured.err
        assert found == status, captured.err
        return json.loads(captured.out) if status == 0 else captured.err


def test_rules_by_the_command_line(
    administrated: Broker, admin: AdminClient, capsys: pytest.CaptureFixture[str]
) -> None:
    headrace = Command(administrated.bootstrap_servers, capsys)
    subject = ("--allow-principal", "User:bob")
    created = headrace("acl", "create", *subject, "--consumer", "--topic", "orders", "--group", "g")
    assert [(each["resource"], each["operation"]) for each in created] == [
        ("topic", "read"),
        ("topic", "describe"),
        ("group", "read"),
    ]
    headrace("acl", "create", *subject, "--cluster", "--operation", "alter-configs")
    listed = headrace("acl", "list", "--principal", "User:bob")
    assert len(listed) == 4
    assert {
        "resource": "cluster",
        "name": "kafka-cluster",
        "pattern": "literal",
        "principal": "User:bob",
        "host": "*",
        "operation": "alter-configs",
        "permission": "allow",
    } in listed
    assert len(headrace("acl", "list", "--topic", "orders")) == 2
    gone = headrace("acl", "delete", "--topic", "orders", "--operation", "read", "--yes")
    assert [each["operation"] for each in gone] == ["read"]
    assert len(headrace("acl", "list")) == 3


def test_users_by_the_command_line(
    administrated: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headrace = Command(administrated.bootstrap_servers, capsys)
    file = tmp_path / "password"
    file.write_text("open sesame\n")
    added = headrace("user", "add", "carol", "--password-file", str(file))
    assert added == {"user": "carol", "mechanisms": ["SCRAM-SHA-256", "SCRAM-SHA-512"]}
    rows = [each for each in headrace("user", "list") if each["user"] == "carol"]
    assert {each["mechanism"] for each in rows} == {"SCRAM-SHA-256", "SCRAM-SHA-512"}
    credential = administrated.call(
        lambda server: server.broker.credentials.scram("carol", OurMechanism.SCRAM_SHA_512)
    )
    assert credential is not None
    assert credential.is_password("open sesame")
    deleted = headrace("user", "delete", "carol", "--mechanism", "SCRAM-SHA-256", "--yes")
    assert deleted == {"user": "carol", "deleted": ["SCRAM-SHA-256"]}
    headrace("user", "delete", "carol", "--yes")
    assert "no such credential" in headrace("user", "delete", "carol", "--yes", status=4)


def test_command_line_says_that_there_is_no_authorizer(
    headrace_broker: Broker, capsys: pytest.CaptureFixture[str]
) -> None:
    headrace = Command(headrace_broker.bootstrap_servers, capsys)
    arguments = ("acl", "create", "--allow-principal", "User:a", "--topic", "t")
    assert "no authorizer" in headrace(*arguments, status=1)
    assert headrace("acl", "list") == []
    assert "authorizer" in headrace.error
