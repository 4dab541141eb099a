"""DescribeLogDirs (key 35), versions 1-5.

v2 flexible · v3 top-level error · v4 total and usable bytes of the volume · v5 cordoned directories
(none here). There is one directory. Null topics means all; what does not exist is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.codecs.kafka.generated.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from headrace.frontends.kafka.authorization import maybe_cluster_refusal
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import StorageFailure
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.broker.topics import Partition
    from headrace.codecs.kafka.generated.describe_log_dirs import DescribeLogDirsRequest
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 35
VERSIONS = (1, 5)


def handle(request: DescribeLogDirsRequest, context: RequestContext) -> DescribeLogDirsResponse:
    refusal = maybe_cluster_refusal(context, Operation.DESCRIBE)
    if refusal is not None:
        return DescribeLogDirsResponse(error_code=error_code(refusal))
    store = context.broker.store
    result = DescribeLogDirsResult(log_dir=store.directory)
    try:
        result.total_bytes = store.disk.total_bytes(store.directory)
        result.usable_bytes = store.disk.free_bytes(store.directory)
    except StorageFailure as error:
        result.error_code = error_code(error)
    result.topics = [
        DescribeLogDirsTopic(
            name,
            [DescribeLogDirsPartition(each.index, each.log.size_bytes) for each in partitions],
        )
        for name, partitions in _wanted(request, context)
    ]
    return DescribeLogDirsResponse(results=[result])


def _wanted(
    request: DescribeLogDirsRequest, context: RequestContext
) -> Iterator[tuple[str, list[Partition]]]:
    topics = context.broker.topics
    if request.topics is None:
        for topic in topics:
            yield topic.name, topic.partitions
        return
    for wanted in request.topics:
        found = (topics.partition(wanted.topic, index) for index in sorted(set(wanted.partitions)))
        partitions = [partition for partition in found if partition is not None]
        if partitions:
            yield wanted.topic, partitions
