"""Access rules and SCRAM users in the metadata log: Kafka reads ours, and we take over Kafka's."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
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

from headrace.config.broker_access import STANDARD_AUTHORIZER
from headrace.security.scram_credential import ScramMechanism as OurMechanism
from headrace.testing import Broker

from .kafka_tools import RealKafka, dump_log_segments, tools_missing
from .successors import CONTROLLER_LOG

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.maven]

TIMEOUT_S = 30.0
SETTINGS = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
PASSWORD = b"open sesame"


@pytest.fixture(autouse=True)
def _needs_maven() -> None:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)


def rule(name: str, operation: AclOperation, pattern: ResourcePatternType) -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        name,
        pattern,
        "User:alice",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


KEPT = rule("orders", AclOperation.READ, ResourcePatternType.PREFIXED)
GONE = rule("orders", AclOperation.WRITE, ResourcePatternType.LITERAL)


def fill(bootstrap_servers: str) -> None:
    """One rule and one credential that stay, one of each that goes again."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for future in admin.create_acls([KEPT, GONE]).values():
        future.result(TIMEOUT_S)
    removal = AclBindingFilter(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.LITERAL,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    assert admin.delete_acls([removal])[removal].result(TIMEOUT_S) == [GONE]
    for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
        # One by one: Kafka takes one change of a user per request.
        info = ScramCredentialInfo(mechanism, 4096)
        change = UserScramCredentialUpsertion("alice", info, PASSWORD)
        admin.alter_user_scram_credentials([change])["alice"].result(TIMEOUT_S)
    deletion = UserScramCredentialDeletion("alice", ScramMechanism.SCRAM_SHA_256)
    admin.alter_user_scram_credentials([deletion])["alice"].result(TIMEOUT_S)


def test_dump_of_kafka_reads_what_we_wrote(tmp_path: Path) -> None:
    with Broker(SETTINGS, directory=str(tmp_path)) as broker:
        fill(broker.bootstrap_servers)
    files = sorted((tmp_path / CONTROLLER_LOG).glob("*.log"))
    dump = dump_log_segments(files, "--cluster-metadata-decoder")
    assert dump.faults == []
    for record in (
        '"type":"ACCESS_CONTROL_ENTRY_RECORD"',
        '"resourceName":"orders","patternType":4,"principal":"User:alice","host":"*"',
        '"type":"REMOVE_ACCESS_CONTROL_ENTRY_RECORD"',
        '"type":"USER_SCRAM_CREDENTIAL_RECORD"',
        '"type":"REMOVE_USER_SCRAM_CREDENTIAL_RECORD"',
    ):
        assert record in dump.text


def test_rules_and_users_of_kafka_are_taken_over(tmp_path: Path) -> None:
    kafka = RealKafka(tmp_path / "kafka", SETTINGS)
    kafka.format()
    kafka.start()
    try:
        fill(kafka.bootstrap_servers)
    finally:
        kafka.stop()
    directory = tmp_path / "successor"
    shutil.copytree(kafka.data_directory, directory)
    with Broker(SETTINGS, directory=str(directory)) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        everything = AclBindingFilter(
            ResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            None,
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        assert admin.describe_acls(everything).result(TIMEOUT_S) == [KEPT]
        credential, gone = broker.call(
            lambda server: (
                server.broker.credentials.scram("alice", OurMechanism.SCRAM_SHA_512),
                server.broker.credentials.scram("alice", OurMechanism.SCRAM_SHA_256),
            )
        )
        assert gone is None
        assert credential is not None
        assert credential.is_password(PASSWORD.decode())
