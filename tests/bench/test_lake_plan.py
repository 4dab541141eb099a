"""How many records, in which topics, by which ways."""

from __future__ import annotations

import pytest

from bench.lake.__main__ import arguments, plan_of, results_directory, routes_of
from bench.lake.plan import maybe_obstacle
from bench.lake.shapes import LARGE, SHAPES, SMALL, TopicContent

JARS = ("kafka-clients-1.jar",)


def plan(*words, jars=JARS, missing=None):
    return plan_of(arguments(words), jars, missing)


def test_a_whole_run_moves_ten_million_small_and_five_million_large_records():
    whole = plan()
    assert [whole.content(shape).records for shape in SHAPES] == [10_000_000, 5_000_000]
    assert whole.content(SMALL).records_per_partition == 2_500_000
    assert whole.rounds == 3
    assert whole.growth_partitions == (1, 4, 16)
    assert whole.growth_gigabytes == (1.0, 5.0, 20.0)


@pytest.mark.parametrize("partitions", [1, 3, 4, 16])
@pytest.mark.parametrize("wanted", [1, 999, 200_000, 1_234_567])
def test_every_partition_gets_the_same_number_of_whole_batches(partitions, wanted):
    for shape in SHAPES:
        count = shape.count(wanted, partitions)
        assert count >= wanted
        assert count % (partitions * shape.batch_records) == 0
        assert count - wanted < partitions * shape.batch_records


def test_gigabytes_are_keys_and_values():
    content = plan().sized_content(5)
    assert content.size_bytes == pytest.approx(5e9, rel=0.001)
    assert content.records * 1_040 == content.size_bytes


def test_a_small_run_warms_with_enough_records_all_the_same():
    assert plan("--quick").warm_content(SMALL).records == 100_000
    assert plan("--quick").content(SMALL).records == 200_000
    assert plan().warm_content(SMALL).records == 1_000_000


def test_steps_are_topics_and_measured_runs():
    quick = plan("--quick")
    assert quick.step_count == 2 * 2 + 2 * 4
    assert plan("--quick", "--growth", "--sizes-gb", "1").step_count == (2 + 4) * 2 + (2 + 4) * 4


def test_ways_that_cannot_be_run_are_left_out():
    names = [route.name for route in routes_of(None, has_connector=True, has_kafka=False)]
    assert names == ["engine", "source", "connector"]
    alone = plan(jars=(), missing="no Maven")
    assert [route.name for route in alone.routes] == ["engine", "source"]
    assert alone.peer_names == ["headrace"]
    chosen = plan("--route", "connector-kafka").routes
    assert [route.peer for route in chosen] == ["kafka"]


@pytest.mark.parametrize(
    ("words", "mode"),
    [
        ((), "full"),
        (("--no-growth",), "full"),
        (("--quick",), "quick"),
        (("--scale", "0.1"), "partial"),
        (("--route", "engine"), "partial"),
    ],
)
def test_only_a_whole_run_replaces_the_result_of_the_last(words, mode):
    made = plan(*words)
    assert made.mode == mode
    directory = results_directory(arguments(words), made)
    assert directory.name == ("results" if mode == "full" else mode)


def test_a_disk_must_hold_what_is_missing_and_the_parquet_files():
    content = TopicContent("sizes", 4, 20_000, LARGE)
    assert maybe_obstacle(content, 0, 10**9) is None
    assert "46 GB of disk wanted" in str(
        maybe_obstacle(content._replace(records=20_000_000), 0, 40 * 10**9)
    )
    assert maybe_obstacle(content._replace(records=20_000_000), 15_000_000, 40 * 10**9) is None
