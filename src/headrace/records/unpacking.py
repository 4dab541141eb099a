"""Records of compressed batches, unpacked one behind the other into memory that is used again.

Fresh memory for each batch would have to be zeroed, paged in and copied from once more: together
that takes longer than the decompression itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.records.compression import (
    OUTPUT_FIRST_GUESS,
    OUTPUT_GROWTH,
    OutputTooSmall,
    decompress_into,
    raise_if_too_large,
)

if TYPE_CHECKING:
    from headrace.records.compression import Buffer

FIRST_BYTES = 1024 * 1024
KEPT_BYTES_MAX = 4 * 1024 * 1024
"""What a large batch needed beyond this is given back."""


class Unpacker:
    """``data`` holds ``used`` bytes: everything that was kept since it was cleared."""

    def __init__(self, batch_bytes_max: int) -> None:
        self.used = 0
        self.batch_bytes_max = batch_bytes_max
        self._use(bytearray())

    def unpack(self, codec: int, packed: Buffer) -> int:
        """Put records behind those that are kept, within the limit of a batch: their size."""
        size_max = self.batch_bytes_max
        capacity = min(size_max, max(OUTPUT_FIRST_GUESS, OUTPUT_GROWTH * len(packed)))
        while True:
            self._make_room(capacity)
            room = self._view[self.used : self.used + size_max]
            try:
                return decompress_into(codec, packed, room)
            except OutputTooSmall:
                capacity = len(room)
            raise_if_too_large(capacity + 1, size_max)
            capacity = min(size_max, capacity * OUTPUT_GROWTH)

    def keep(self, size_bytes: int) -> None:
        """What was unpacked last is good."""
        self.used += size_bytes

    def kept(self) -> memoryview:
        """All of it, and not a byte more: whoever reads beyond it is to be found out."""
        return self._view[: self.used]

    def clear(self) -> None:
        self.used = 0
        if len(self.data) > KEPT_BYTES_MAX:
            self._use(bytearray())

    def _make_room(self, size_bytes: int) -> None:
        """A new array, not a longer one: somebody may still look at the old one."""
        wanted = self.used + size_bytes
        if wanted > len(self.data):
            larger = bytearray(max(wanted, FIRST_BYTES, 2 * len(self.data)))
            larger[: self.used] = self._view[: self.used]
            self._use(larger)

    def _use(self, data: bytearray) -> None:
        self.data = data
        self._view = memoryview(data)
