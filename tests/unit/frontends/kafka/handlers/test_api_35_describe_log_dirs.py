"""DescribeLogDirs: sizes of the logs and of the volume."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from headrace.frontends.kafka.handlers.api_35_describe_log_dirs import handle
from headrace.records.build import build_batch
from headrace.testing.metadata_bench import DATA, MetadataBench


@pytest.fixture
def bench() -> MetadataBench:
    bench = MetadataBench()
    bench.create("orders", 2)
    bench.create("users", 1)
    partition = bench.topics.partition("orders", 1)
    assert partition is not None
    bench.logs.append(
        [(partition.log, build_batch([(b"k", b"v")], timestamp_ms=bench.clock.now_ms()))]
    )
    return bench


def describe(
    bench: MetadataBench, topics: list[DescribableLogDirTopic] | None
) -> DescribeLogDirsResult:
    (result,) = handle(DescribeLogDirsRequest(topics), bench.context(5)).results
    return result


def sizes(result: DescribeLogDirsResult) -> dict[tuple[str, int], int]:
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in result.topics
        for partition in topic.partitions
    }


def test_null_means_all_topics(bench: MetadataBench) -> None:
    result = describe(bench, None)
    found = sizes(result)
    assert set(found) == {("orders", 0), ("orders", 1), ("users", 0)}
    assert found["orders", 0] == 0
    assert found["orders", 1] > 60
    assert (result.error_code, result.log_dir, result.is_cordoned) == (0, DATA, False)
    assert result.total_bytes >= result.usable_bytes > 0


def test_only_what_is_asked_for_and_exists_is_told(bench: MetadataBench) -> None:
    wanted = [DescribableLogDirTopic("orders", [1, 7, 1]), DescribableLogDirTopic("unknown", [0])]
    assert list(sizes(describe(bench, wanted))) == [("orders", 1)]
    assert sizes(describe(bench, [])) == {}
