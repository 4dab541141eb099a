"""AlterReplicaLogDirs (key 34), versions 1-2 (KIP-113).

v2 flexible. There is one directory, so a partition can only be told to stay where it is; the path
is the one that DescribeLogDirs tells. Errors are per partition. Of a partition that is named more
than once, the last directory counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.placement import raise_if_not_movable_to
from headrace.codecs.kafka.generated.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.alter_replica_log_dirs import AlterReplicaLogDirsRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 34
VERSIONS = (1, 2)


def handle(
    request: AlterReplicaLogDirsRequest, context: RequestContext
) -> AlterReplicaLogDirsResponse:
    refusal = maybe_cluster_refusal(context, Operation.ALTER)
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                name,
                [
                    AlterReplicaLogDirPartitionResult(
                        index, error_code(refusal) if refusal else _move(context, name, index, path)
                    )
                    for index, path in paths.items()
                ],
            )
            for name, paths in _wanted(request).items()
        ]
    )


def _wanted(request: AlterReplicaLogDirsRequest) -> dict[str, dict[int, str]]:
    """Paths by topic and partition."""
    wanted: dict[str, dict[int, str]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            paths = wanted.setdefault(topic.name, {})
            paths.update(dict.fromkeys(topic.partitions, directory.path))
    return wanted


def _move(context: RequestContext, name: str, index: int, path: str) -> int:
    broker = context.broker
    try:
        raise_if_not_movable_to(broker.topics, name, index, path, broker.store.directory)
    except HeadraceError as error:
        return error_code(error)
    return NONE
