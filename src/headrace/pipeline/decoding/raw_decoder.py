"""Values as they are."""

from __future__ import annotations

import pyarrow as pa

from headrace.pipeline.decoding.model import DecodedValues

RAW_FIELDS = pa.schema([("value", pa.binary())])


class RawDecoder:
    """One column, and nothing can be bad."""

    def schema(self) -> pa.Schema:
        return RAW_FIELDS

    def decode(self, values: pa.BinaryArray) -> DecodedValues:
        return DecodedValues(pa.RecordBatch.from_arrays([values], schema=RAW_FIELDS), None)
