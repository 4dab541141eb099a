"""Options of tables: every mistake is named."""

from __future__ import annotations

import pytest

from headrace.model.errors import InvalidConfig
from headrace.pipeline.tables.settings import table_settings


def test_defaults():
    settings = table_settings("hour", {})
    assert settings.columns == ("date", "hour")
    assert settings.bucket_ms == 3_600_000
    assert settings.is_synced
    assert settings.has_view
    assert settings.compression == "zstd"
    assert settings.retention_ms == 3_600_000


def test_options_are_read():
    settings = table_settings(
        "date",
        {
            "partition.columns": "day, hour_of_day",
            "sync": "False",
            "compression": "Snappy",
            "takeover": "true",
            "replaced.minutes": "5",
            "storage.region": "here",
            "catalog.uri": "there",
        },
    )
    assert settings.columns == ("day",)
    assert not settings.is_synced
    assert settings.compression == "snappy"
    assert settings.retention_ms == 300_000
    assert settings.storage == {"region": "here"}
    assert settings.catalog == {"uri": "there"}
    assert settings.take_over


@pytest.mark.parametrize(
    ("partition_by", "options", "named"),
    [
        ("week", {}, "week"),
        ("hour", {"colour": "red"}, "colour"),
        ("hour", {"sync": "maybe"}, "sync"),
        ("hour", {"compression": "zip"}, "compression"),
        ("hour", {"replaced.minutes": "-1"}, "replaced"),
        ("hour", {"orphan.minutes": "1h"}, "orphan"),
        ("hour", {"orphan.minutes": "59"}, "orphan"),
        ("hour", {"partition.columns": "day"}, "partition"),
        ("hour", {"partition.columns": "day,day"}, "partition"),
    ],
)
def test_mistakes_are_named(partition_by, options, named):
    with pytest.raises(InvalidConfig, match=named):
        table_settings(partition_by, options)
