"""ApiVersions tells the levels of the features by which clients choose their protocol."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.broker.features import Features
from headrace.codecs.kafka.generated.api_versions import ApiVersionsRequest
from headrace.coordination.metadata.features import FeatureUpdate, UpdateKind
from headrace.frontends.kafka.handlers import api_18_api_versions
from headrace.testing.transaction_door import TransactionDoor

REQUEST = ApiVersionsRequest("test", "1")


def ask(door: TransactionDoor, version: int) -> Any:
    return door.call(api_18_api_versions, REQUEST, version)


@pytest.mark.parametrize("version", [3, 4])
def test_transaction_version_is_finalised(version: int) -> None:
    response = ask(TransactionDoor(), version)
    levels = {
        each.name: (each.min_version_level, each.max_version_level)
        for each in response.finalized_features
    }
    assert levels["transaction.version"] == (2, 2)
    assert levels["group.version"] == (1, 1)
    assert response.finalized_features_epoch >= 0


@pytest.mark.parametrize(("version", "is_told"), [(3, False), (4, True)])
def test_ranges_that_begin_at_zero_are_for_newer_clients(version: int, is_told: bool) -> None:
    response = ask(TransactionDoor(), version)
    ranges = {
        each.name: (each.min_version, each.max_version) for each in response.supported_features
    }
    assert ("transaction.version" in ranges) is is_told
    assert ranges["group.version"] == (1, 1)
    if is_told:
        assert ranges["transaction.version"] == (0, 2)


def test_change_of_a_level_raises_the_epoch() -> None:
    door = TransactionDoor()
    before = ask(door, 4)
    update = FeatureUpdate("transaction.version", 0, UpdateKind.SAFE_DOWNGRADE)
    Features(door.bench.store).update([update])
    after = ask(door, 4)
    assert after.finalized_features_epoch > before.finalized_features_epoch
    assert "transaction.version" not in {each.name for each in after.finalized_features}


def test_older_versions_have_no_features() -> None:
    assert list(ask(TransactionDoor(), 2).finalized_features) == []
