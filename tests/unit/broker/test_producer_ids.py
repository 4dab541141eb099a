"""Producer ids: never twice, whatever happens to process, power and disk."""

from __future__ import annotations

import pytest

from headrace.coordination.metadata.producer_ids import BLOCK_SIZE
from headrace.model.errors import CoordinatorLoading
from headrace.testing.metadata_bench import MetadataBench


def test_ids_are_handed_out_one_by_one() -> None:
    bench = MetadataBench()
    assert [bench.producer_ids.allocate() for _ in range(5)] == [0, 1, 2, 3, 4]


def test_next_block_is_reserved_before_the_first_is_used_up() -> None:
    bench = MetadataBench()
    ids = []
    for _ in range(3 * BLOCK_SIZE):
        ids.append(bench.producer_ids.allocate())
        bench.settle()
    assert ids == list(range(3 * BLOCK_SIZE))


@pytest.mark.parametrize("power_loss", [False, True])
def test_no_id_is_handed_out_again_after_a_crash(power_loss: bool) -> None:
    bench = MetadataBench()
    seen: set[int] = set()
    for _ in range(4):
        for _ in range(700):
            producer_id = bench.producer_ids.allocate()
            assert producer_id not in seen
            seen.add(producer_id)
            bench.settle()
        bench.restart(clean=False, power_loss=power_loss)


def test_block_that_is_not_durable_yet_is_not_used() -> None:
    bench = MetadataBench()
    ids = [bench.producer_ids.allocate() for _ in range(BLOCK_SIZE)]
    with pytest.raises(CoordinatorLoading):
        bench.producer_ids.allocate()
    bench.settle()
    assert bench.producer_ids.allocate() == ids[-1] + 1


def test_disk_that_refuses_a_block_is_asked_again() -> None:
    bench = MetadataBench()
    bench.disk.fail_next("write")
    for _ in range(BLOCK_SIZE // 2 + 5):
        bench.producer_ids.allocate()
    bench.settle()
    for _ in range(BLOCK_SIZE):
        bench.producer_ids.allocate()
        bench.settle()
