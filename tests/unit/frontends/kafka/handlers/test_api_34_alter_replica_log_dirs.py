"""AlterReplicaLogDirs: a partition may stay where it is."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from headrace.frontends.kafka.handlers.api_34_alter_replica_log_dirs import handle
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType
from headrace.testing.metadata_bench import DATA, MetadataBench

from .administrator import CLUSTER_AUTHORIZATION_FAILED, Administrator

NONE, UNKNOWN_TOPIC_OR_PARTITION, LOG_DIR_NOT_FOUND = 0, 3, 57


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders", 2)
    return bench


def to(path: str, name: str, *partitions: int) -> AlterReplicaLogDir:
    return AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(name, partitions)])


def move(admin: Administrator, *wishes: AlterReplicaLogDir) -> dict[tuple[str, int], int]:
    answer = admin.ask(handle, 2, AlterReplicaLogDirsRequest(wishes))
    return {
        (topic.topic_name, each.partition_index): each.error_code
        for topic in answer.results
        for each in topic.partitions
    }


def test_partition_stays_in_the_only_directory(bench: MetadataBench) -> None:
    told = move(Administrator(bench), to(DATA, "orders", 0, 1))
    assert told == {("orders", 0): NONE, ("orders", 1): NONE}


def test_other_directories_are_not_there(bench: MetadataBench) -> None:
    told = move(Administrator(bench), to("/elsewhere", "orders", 0), to("", "orders", 1))
    assert told == {("orders", 0): LOG_DIR_NOT_FOUND, ("orders", 1): LOG_DIR_NOT_FOUND}


def test_unknown_partitions_are_refused(bench: MetadataBench) -> None:
    told = move(Administrator(bench), to(DATA, "orders", 2, -1), to(DATA, "unknown", 0))
    assert set(told.values()) == {UNKNOWN_TOPIC_OR_PARTITION}
    assert len(told) == 3


def test_directory_that_is_named_last_counts(bench: MetadataBench) -> None:
    told = move(Administrator(bench), to(DATA, "orders", 0), to("/elsewhere", "orders", 0))
    assert told == {("orders", 0): LOG_DIR_NOT_FOUND}


def test_right_to_alter_the_cluster_is_needed(bench: MetadataBench) -> None:
    admin = Administrator(bench, is_allowed=False)
    told = move(admin, to(DATA, "orders", 0), to(DATA, "unknown", 0))
    assert set(told.values()) == {CLUSTER_AUTHORIZATION_FAILED}
    assert admin.asked == [(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)]
