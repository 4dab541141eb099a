"""Settings as the parts of the engine want them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.decoding.spec import spec_from_options
from headrace.pipeline.errors import SchemaConflict
from headrace.pipeline.parquet.preparing import read_settings, source_options, spec_for_table
from headrace.pipeline.source.bounds import EARLIEST, LATEST, Everywhere
from headrace.pipeline.tables import open_table

from .fake_log import FakeLog, Tasks, job_of, settings_of, values

if TYPE_CHECKING:
    from pathlib import Path


def test_options_of_the_source() -> None:
    plain = source_options(settings_of("t"))
    assert plain.starting == Everywhere(EARLIEST)
    assert plain.max_offsets_per_trigger is not None
    given = {"startingoffsets": "latest", "minOffsetsPerTrigger": "5"}
    options = source_options(settings_of("t", source=given))
    assert options.starting == Everywhere(LATEST)
    assert options.max_offsets_per_trigger is None


def test_headers_are_kept_unless_told_otherwise() -> None:
    for given, is_kept in (({}, True), ({"includeHeaders": "false"}, False)):
        settings = settings_of("t", source=given)
        columns = read_settings(settings, source_options(settings)).columns
        assert ("headers" in columns) is is_kept


def test_a_table_of_other_values_is_refused(tmp_path: Path) -> None:
    log = FakeLog(values("a"))
    with open_table("plain", str(tmp_path / "lake")) as table:
        job_of(settings_of(table.url), table, log.view(), Tasks(log))[0].run_batch()
        with pytest.raises(SchemaConflict, match="column value of type binary"):
            spec_for_table(spec_from_options({"format": "json"}), table)
