"""A checkpoint is one job's: for one cluster, topic and target."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from headrace.pipeline.errors import ForeignCheckpoint, TargetFull, TargetNotWritable
from headrace.pipeline.jobs.checkpoint import (
    MARKER,
    checkpoint_identity,
    claim_checkpoint,
    maybe_local_path,
)

from .samples import PARQUET, SQL, definition

IDENTITY = checkpoint_identity(definition(), "cluster-1")


def test_checkpoint_is_claimed_once_and_found_again(tmp_path: Path) -> None:
    place = str(tmp_path / "a" / "b")
    claim_checkpoint(place, IDENTITY)
    (tmp_path / "a" / "b" / "offsets").mkdir()
    claim_checkpoint(f"file://{place}", IDENTITY)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (checkpoint_identity(definition(), "cluster-2"), "cluster 'cluster-1', not 'cluster-2'"),
        (checkpoint_identity(definition(SQL), "cluster-1"), "topics 'orders', not 'orders-.*'"),
        (
            checkpoint_identity(definition(PARQUET.replace("/lake/orders", "/x")), "cluster-1"),
            "target 'delta /lake/orders', not 'delta /x'",
        ),
    ],
)
def test_checkpoint_of_another_is_refused(
    tmp_path: Path, other: dict[str, str], message: str
) -> None:
    claim_checkpoint(str(tmp_path), IDENTITY)
    with pytest.raises(ForeignCheckpoint) as raised:
        claim_checkpoint(str(tmp_path), other)
    assert message in raised.value.message


def test_directory_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "commits").mkdir()
    with pytest.raises(ForeignCheckpoint, match="not empty"):
        claim_checkpoint(str(tmp_path), IDENTITY)


@pytest.mark.parametrize("marker", ["{", "[]"])
def test_damaged_marker_is_refused(tmp_path: Path, marker: str) -> None:
    (tmp_path / MARKER).write_text(marker)
    with pytest.raises(ForeignCheckpoint, match="damaged"):
        claim_checkpoint(str(tmp_path), IDENTITY)


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetNotWritable, match="Not a directory"):
        claim_checkpoint(str(tmp_path / "file" / "x"), IDENTITY)


def test_object_stores_carry_no_marker() -> None:
    claim_checkpoint("s3a://bucket/x", IDENTITY)
    assert maybe_local_path("s3a://bucket/x") is None
    assert maybe_local_path("/x") == maybe_local_path("file:///x") == Path("/x")


def test_job_that_ended_while_it_claimed_can_claim_again(tmp_path: Path) -> None:
    (tmp_path / MARKER).with_suffix(".unfinished").write_text("{")
    claim_checkpoint(str(tmp_path), IDENTITY)
    claim_checkpoint(str(tmp_path), IDENTITY)


def test_full_disk_may_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_text(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write_text)
    with pytest.raises(TargetFull) as raised:
        claim_checkpoint(str(tmp_path), IDENTITY)
    assert raised.value.retriable
