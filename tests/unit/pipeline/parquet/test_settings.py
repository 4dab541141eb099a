"""Settings that cannot be."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.parquet.settings import ParquetSettings

from .fake_log import settings_of


@pytest.mark.parametrize(
    "changes",
    [{"trigger_seconds": -1.0}, {"file_bytes_target": 0}, {"compact_batches": 0}],
)
def test_impossible_settings_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidConfig):
        settings_of("t", **changes)


def test_a_job_needs_a_name() -> None:
    with pytest.raises(InvalidConfig, match="name"):
        ParquetSettings(job="", source={}, target="t")


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(settings_of("t", source={"kafka.sasl.jaas.config": "secret"}))
