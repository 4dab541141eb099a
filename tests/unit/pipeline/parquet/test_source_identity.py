"""Whose offsets: kept, found again, and refused where they are damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.errors import ForeignCheckpoint, TargetNotWritable
from headrace.pipeline.parquet.source_identity import (
    FILE_NAME,
    NOBODY,
    SourceIdentity,
    load_identity,
    save_identity,
)

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = SourceIdentity("cluster", {"orders": "0102"})


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_kept_and_found(tmp_path: Path, prefix: str) -> None:
    checkpoint = f"{prefix}{tmp_path}/a/b"
    assert load_identity(checkpoint) == NOBODY
    save_identity(checkpoint, IDENTITY)
    assert load_identity(checkpoint) == IDENTITY


@pytest.mark.parametrize("checkpoint", ["", "s3://bucket/checkpoint"])
def test_nowhere_to_keep_it(checkpoint: str) -> None:
    save_identity(checkpoint, IDENTITY)
    assert load_identity(checkpoint) == NOBODY


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"cluster": "x"}', '{"cluster": "x", "topics": 5}']
)
def test_damage_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(ForeignCheckpoint, match="damaged"):
        load_identity(str(tmp_path))


def test_a_checkpoint_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetNotWritable):
        save_identity(str(tmp_path / "file"), IDENTITY)
