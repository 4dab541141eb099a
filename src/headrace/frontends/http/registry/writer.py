"""One writer at a time.

A decision may take long (parsing, comparing with many versions), so it runs in a thread while the
writer's turn is held: it only reads the state, which nobody else changes meanwhile.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from headrace.schemas.errors import RegistryLoading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.broker.schema_store import SchemaStore
    from headrace.schemas.records import RegistryRecord
    from headrace.schemas.state import RegistryState

T = TypeVar("T")


class Writer:
    """The way of every change, and of every question that takes long to answer."""

    def __init__(self, store: SchemaStore) -> None:
        self._store = store
        self._turn = asyncio.Lock()

    @property
    def state(self) -> RegistryState:
        return self._store.state

    async def ask(self, question: Callable[[RegistryState], T]) -> T:
        """The answer, worked out in a thread."""
        async with self._turn:
            return await asyncio.to_thread(question, self._store.state)

    async def change(
        self, decide: Callable[[RegistryState], tuple[Sequence[RegistryRecord], T]]
    ) -> T:
        """Decide, write what was decided, and wait until a crash cannot take it back."""
        async with self._turn:
            state = self._store.state
            records, result = await asyncio.to_thread(decide, state)
            if self._store.state is not state:
                raise RegistryLoading("The schemas were deleted meanwhile: try again")
            await self._write(records)
        return result

    async def _write(self, records: Sequence[RegistryRecord]) -> None:
        durable = asyncio.get_running_loop().create_future()

        def done(error: BaseException | None) -> None:
            if durable.done():
                return  # the broker stops, and nobody waits any more
            if error is None:
                durable.set_result(None)
            else:
                durable.set_exception(error)

        self._store.commit(records, done)
        await durable
