"""Blocks of producer ids follow each other without a gap and without an overlap."""

from __future__ import annotations

import pytest

from headrace.coordination.metadata.producer_ids import (
    BLOCK_SIZE,
    PRODUCER_ID_MAX,
    decide_next_block,
)
from headrace.coordination.metadata.records import ProducerIdsRecord
from headrace.coordination.metadata.state import MetadataState
from headrace.model.errors import LimitReached


def test_blocks_follow_each_other() -> None:
    state = MetadataState()
    blocks = []
    for _ in range(3):
        ids, record = decide_next_block(state, 1)
        state.replay(record)
        blocks.append(ids)
    assert blocks == [range(0, 1000), range(1000, 2000), range(2000, 3000)]


def test_block_that_was_decided_but_not_replayed_is_decided_again() -> None:
    state = MetadataState()
    assert decide_next_block(state, 1) == decide_next_block(state, 1)


def test_ids_end_somewhere() -> None:
    state = MetadataState()
    state.replay(ProducerIdsRecord(1, PRODUCER_ID_MAX - BLOCK_SIZE + 1))
    with pytest.raises(LimitReached):
        decide_next_block(state, 1)
