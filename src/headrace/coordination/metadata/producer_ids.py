"""Producer ids are reserved in blocks, so that handing one out costs no write.

The record says which id comes next after the block. Ids of a reserved block that a crash leaves
unused are lost, and that is the point: none is ever handed out twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.metadata.records import ProducerIdsRecord
from headrace.model.errors import LimitReached

if TYPE_CHECKING:
    from headrace.coordination.metadata.state import MetadataState

BLOCK_SIZE = 1_000
PRODUCER_ID_MAX = 2**63 - 1


def decide_next_block(state: MetadataState, node_id: int) -> tuple[range, ProducerIdsRecord]:
    """The ids of the next block, and the record that reserves them."""
    first = state.next_producer_id
    if first > PRODUCER_ID_MAX - BLOCK_SIZE:
        raise LimitReached("all producer ids are used up")
    ids = range(first, first + BLOCK_SIZE)
    return ids, ProducerIdsRecord(node_id, ids.stop)
