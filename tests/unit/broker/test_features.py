"""Features: what clients are told, and that their epoch never goes back."""

from __future__ import annotations

import pytest

from headrace.broker.features import Features
from headrace.coordination.metadata.features import (
    INITIAL_LEVELS,
    SUPPORTED,
    TRANSACTION_VERSION,
    FeatureUpdate,
    UpdateKind,
)
from headrace.coordination.metadata.records import FeatureLevelRecord
from headrace.model.errors import InvalidFeatureLevel
from headrace.testing.metadata_bench import MetadataBench

DOWN = FeatureUpdate(TRANSACTION_VERSION, 0, UpdateKind.SAFE_DOWNGRADE)


def test_new_directory_has_the_initial_levels() -> None:
    features = Features(MetadataBench().store)
    assert features.finalized() == INITIAL_LEVELS
    assert features.level(TRANSACTION_VERSION) == 2
    assert features.supported == SUPPORTED


def test_feature_that_is_off_has_level_zero_and_is_not_told() -> None:
    features = Features(MetadataBench().store)
    features.update([DOWN])
    assert features.level(TRANSACTION_VERSION) == 0
    assert TRANSACTION_VERSION not in features.finalized()


def test_features_of_kafka_that_are_not_served_are_not_told() -> None:
    bench = MetadataBench()
    bench.store.commit([FeatureLevelRecord("share.version", 1)])
    assert "share.version" not in Features(bench.store).finalized()


def test_epoch_rises_with_a_change_and_stays_over_restarts() -> None:
    bench = MetadataBench(log_size_bytes_max=1)
    before = Features(bench.store).epoch
    assert before >= 0
    Features(bench.store).update([DOWN])
    after = Features(bench.store).epoch
    assert after > before
    bench.settle()
    bench.restart(clean=False)
    assert Features(bench.store).epoch >= after
    assert Features(bench.store).level(TRANSACTION_VERSION) == 0


def test_refused_change_and_mere_validation_write_nothing() -> None:
    bench = MetadataBench()
    features = Features(bench.store)
    before = features.epoch
    features.update([DOWN], validate_only=True)
    with pytest.raises(InvalidFeatureLevel):
        features.update([DOWN, FeatureUpdate("nonsense", 1)])
    assert (features.epoch, features.level(TRANSACTION_VERSION)) == (before, 2)
