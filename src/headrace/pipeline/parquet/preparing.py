"""Settings as the parts of the engine want them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.pipeline.decoding.json_query import can_query
from headrace.pipeline.decoding.spec import INFERRED, RAW
from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.parquet.rows import value_fields
from headrace.pipeline.read_settings import ReadSettings
from headrace.pipeline.source.options import parse_options
from headrace.records.column_schema import COLUMNS, HEADERS

if TYPE_CHECKING:
    from headrace.pipeline.decoding.spec import DecoderSpec
    from headrace.pipeline.parquet.settings import ParquetSettings
    from headrace.pipeline.source.options import SourceOptions
    from headrace.pipeline.tables.table import Table

READ_ROWS_MAX = 65_536
READ_BYTES_MAX = 16 * 1024 * 1024
STARTING_OPTIONS = ("startingoffsets", "startingtimestamp", "startingoffsetsbytimestamp")
ISOLATION_OPTION = "kafka.isolation.level"
LIMITING_OPTIONS = ("maxoffsetspertrigger", "minoffsetspertrigger")
BATCH_OFFSETS_MAX = 20_000_000
"""A batch that fails is done again as a whole; a long backlog is taken in several."""


def source_options(settings: ParquetSettings) -> SourceOptions:
    """Those of the source, with what suits a table unless they say otherwise: from the beginning,
    and nothing that was taken back, for a row that is in a table stays there.
    """
    given = {name.lower() for name in settings.source}
    source = dict(settings.source)
    if not given.intersection(STARTING_OPTIONS):
        source["startingOffsets"] = "earliest"
    if ISOLATION_OPTION not in given:
        source[ISOLATION_OPTION] = "read_committed"
    if not given.intersection(LIMITING_OPTIONS):
        source["maxOffsetsPerTrigger"] = str(BATCH_OFFSETS_MAX)
    return parse_options(source, is_streaming=True)


def read_settings(settings: ParquetSettings, options: SourceOptions) -> ReadSettings:
    given = {name.lower(): value for name, value in settings.source.items()}
    has_headers = given.get("includeheaders", "true").strip().lower() != "false"
    return ReadSettings(
        kafka=options.kafka,
        path=options.read_path,
        storage_url=options.storage_url,
        is_committed=options.is_committed,
        columns=tuple(name for name in COLUMNS if has_headers or name != HEADERS),
        fail_on_data_loss=options.fail_on_data_loss,
        batch_rows_max=_own(options.batch_rows_max, READ_ROWS_MAX, given, "rows"),
        batch_bytes_max=_own(options.batch_bytes_max, READ_BYTES_MAX, given, "bytes"),
    )


def _own(value: int, default: int, given: dict[str, str], word: str) -> int:
    """Larger pieces than those that Spark's rows are made of, unless the options say it."""
    return value if f"headrace.batch.{word}.max" in given else default


def spec_for_table(spec: DecoderSpec, table: Table) -> DecoderSpec:
    """The spec with the fields that the table has columns for."""
    fields = value_fields(table.schema())
    if spec.format == RAW or not len(fields):
        return spec
    if spec.format == INFERRED:
        for one in fields:
            if not can_query(one.type, one.name):
                raise SchemaConflict(
                    f"{table.url} has a column {one.name} of type {one.type}, which fields of JSON "
                    "cannot have: it was written from other values"
                )
    return spec.with_fields([fields])
