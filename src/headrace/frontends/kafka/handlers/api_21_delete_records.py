"""DeleteRecords (key 21), versions 0-2.

v1 as v0 · v2 flexible. Offset -1 stands for the high watermark. Errors are per partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.broker.record_deletion import delete_records_before
from headrace.codecs.kafka.generated.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from headrace.frontends.kafka.authorization import raise_if_topic_refused
from headrace.frontends.kafka.errors import error_code
from headrace.model.errors import HeadraceError
from headrace.security.acl import Operation

if TYPE_CHECKING:
    from headrace.codecs.kafka.generated.delete_records import (
        DeleteRecordsPartition,
        DeleteRecordsRequest,
    )
    from headrace.frontends.kafka.context import RequestContext

API_KEY = 21
VERSIONS = (0, 2)

NO_LOW_WATERMARK = -1


def handle(request: DeleteRecordsRequest, context: RequestContext) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name,
                [_delete(topic.name, partition, context) for partition in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _delete(
    name: str, wanted: DeleteRecordsPartition, context: RequestContext
) -> DeleteRecordsPartitionResult:
    index = wanted.partition_index
    try:
        raise_if_topic_refused(context, Operation.DELETE, name)
        low = delete_records_before(context.broker.topics, name, index, wanted.offset)
    except HeadraceError as error:
        return DeleteRecordsPartitionResult(index, NO_LOW_WATERMARK, error_code(error))
    return DeleteRecordsPartitionResult(index, low)
