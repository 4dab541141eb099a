"""The seam between the engine and the formats: bytes in, columns out, and a reason for every record
that could not be decoded.

A decoder never raises because of a record. It has a fixed schema; a field that the schema lacks is
reported in ``new_fields`` and left out, so whoever sees one must widen the spec and decode again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

FIELDS_MAX = 2_000
"""Columns that the values of one table may have."""

NO_FIELDS = pa.schema([])


@dataclass(frozen=True, order=True)
class BadValue:
    """A record that cannot be decoded."""

    index: int
    reason: str


class DecodedValues(NamedTuple):
    """What became of an array of values."""

    columns: pa.RecordBatch
    """The good rows, with exactly the decoder's schema."""
    good: pa.Int64Array | None
    """Where each row was in the array; None: all of them, in order."""
    bad: Sequence[BadValue] = ()
    new_fields: pa.Schema = NO_FIELDS
    """Fields of good rows that the decoder's schema does not have."""


class ValueDecoder(Protocol):
    """One format with one schema. A null value is a good row of nulls."""

    def schema(self) -> pa.Schema: ...

    def decode(self, values: pa.BinaryArray) -> DecodedValues: ...
