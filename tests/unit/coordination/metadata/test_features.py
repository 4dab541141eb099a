"""Feature levels: Kafka's rules for what may change, and all changes or none."""

from __future__ import annotations

import pytest

from headrace.coordination.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    GROUP_VERSION,
    INITIAL_LEVELS,
    KRAFT_VERSION,
    METADATA_VERSION,
    SUPPORTED,
    TRANSACTION_VERSION,
    FeatureUpdate,
    LevelRange,
    UpdateKind,
    decide_feature_updates,
)
from headrace.coordination.metadata.records import FeatureLevelRecord
from headrace.model.errors import InvalidFeatureLevel, InvalidRequest

UPGRADE, SAFE, UNSAFE = UpdateKind


def decide(current: dict[str, int], *updates: tuple[str, int, UpdateKind]) -> dict[str, int]:
    """The levels that are written."""
    records = decide_feature_updates(current, [FeatureUpdate(*update) for update in updates])
    assert all(isinstance(record, FeatureLevelRecord) for record in records)
    return dict(records)  # type: ignore[arg-type]


def test_initial_levels_are_supported() -> None:
    assert all(level in SUPPORTED[name] for name, level in INITIAL_LEVELS.items())


def test_range_has_both_ends() -> None:
    levels = LevelRange(1, 3)
    assert [level for level in range(-1, 6) if level in levels] == [1, 2, 3]


@pytest.mark.parametrize("current", [0, 1, 2])
@pytest.mark.parametrize("wanted", [0, 1, 2])
@pytest.mark.parametrize("kind", UpdateKind)
def test_direction_must_be_the_one_that_was_meant(
    current: int, wanted: int, kind: UpdateKind
) -> None:
    levels = {METADATA_VERSION: 30, TRANSACTION_VERSION: current}
    is_right = wanted == current or (wanted > current) == (kind is UPGRADE)
    if is_right:
        expected = {} if wanted == current else {TRANSACTION_VERSION: wanted}
        assert decide(levels, (TRANSACTION_VERSION, wanted, kind)) == expected
    else:
        with pytest.raises(InvalidFeatureLevel, match=TRANSACTION_VERSION):
            decide(levels, (TRANSACTION_VERSION, wanted, kind))


@pytest.mark.parametrize(
    ("name", "level"),
    [
        (TRANSACTION_VERSION, 3),
        (TRANSACTION_VERSION, -1),
        (GROUP_VERSION, 0),
        (KRAFT_VERSION, 1),
        (METADATA_VERSION, 6),
        (METADATA_VERSION, 31),
        ("share.version", 0),
        ("", 1),
    ],
)
@pytest.mark.parametrize("kind", UpdateKind)
def test_level_that_is_not_served_is_refused(name: str, level: int, kind: UpdateKind) -> None:
    with pytest.raises(InvalidFeatureLevel):
        decide(dict(INITIAL_LEVELS), (name, level, kind))


@pytest.mark.parametrize("kind", [SAFE, UNSAFE])
def test_metadata_does_not_go_back_past_a_change_of_its_records(kind: UpdateKind) -> None:
    assert decide({METADATA_VERSION: 29}, (METADATA_VERSION, 23, kind)) == {METADATA_VERSION: 23}
    for current, wanted in [(30, 29), (29, 22), (23, 22), (8, 7)]:
        with pytest.raises(InvalidFeatureLevel, match="could be lost"):
            decide({METADATA_VERSION: current}, (METADATA_VERSION, wanted, kind))


def test_feature_needs_a_metadata_version() -> None:
    wish = (ELIGIBLE_LEADER_REPLICAS_VERSION, 1, UPGRADE)
    with pytest.raises(InvalidFeatureLevel, match=METADATA_VERSION):
        decide({METADATA_VERSION: 22}, wish)
    with pytest.raises(InvalidFeatureLevel, match=METADATA_VERSION):
        decide({}, (TRANSACTION_VERSION, 2, UPGRADE))
    together = decide({METADATA_VERSION: 22}, wish, (METADATA_VERSION, 25, UPGRADE))
    assert together == {METADATA_VERSION: 25, ELIGIBLE_LEADER_REPLICAS_VERSION: 1}
    assert decide({ELIGIBLE_LEADER_REPLICAS_VERSION: 1}, (*wish[:1], 0, SAFE)) == {
        ELIGIBLE_LEADER_REPLICAS_VERSION: 0
    }


def test_feature_is_named_once() -> None:
    with pytest.raises(InvalidRequest):
        decide(dict(INITIAL_LEVELS), (TRANSACTION_VERSION, 1, SAFE), (TRANSACTION_VERSION, 0, SAFE))


def test_nothing_asked_for_is_nothing_done() -> None:
    assert decide(dict(INITIAL_LEVELS)) == {}
