"""Hand out producer ids: from memory, out of blocks that are on the medium before they are used."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.coordination.metadata.producer_ids import BLOCK_SIZE, decide_next_block
from headrace.model.errors import CoordinatorLoading, StorageFailure

if TYPE_CHECKING:
    from headrace.broker.metadata_store import MetadataStore

log = logging.getLogger(__name__)

RESERVE_BELOW = BLOCK_SIZE // 2
"""The next block is reserved when fewer ids than this are left, so that nobody has to wait."""


class ProducerIds:
    """The ids that this process may still hand out: a block in use and, at times, the next one."""

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._ids = range(0)
        self._next_ids = range(0)
        self._is_reserving = False
        self._reserve()

    def allocate(self) -> int:
        """A producer id that nobody ever had. CoordinatorLoading: none is reserved, try again."""
        if len(self._ids) < RESERVE_BELOW and not self._next_ids:
            self._reserve()
        if not self._ids:
            self._ids, self._next_ids = self._next_ids, self._ids
        if not self._ids:
            raise CoordinatorLoading("producer ids are being reserved")
        first, self._ids = self._ids[0], self._ids[1:]
        return first

    def _reserve(self) -> None:
        if self._is_reserving:
            return
        ids, record = decide_next_block(self._store.state, self._store.node.id)
        try:
            self._store.commit([record])
        except StorageFailure as error:
            # Those that are left can still be handed out; the next caller tries again.
            log.warning("producer ids cannot be reserved: %s", error.message)
            return
        self._is_reserving = True

        def reserved(error: BaseException | None) -> None:
            self._is_reserving = False
            if error is None:
                self._next_ids = ids
            else:
                log.warning("producer ids cannot be reserved: %s", error)

        self._store.when_durable(reserved)
