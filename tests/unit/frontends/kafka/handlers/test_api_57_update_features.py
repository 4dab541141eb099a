"""UpdateFeatures: all levels change or none, and the change is there after a crash."""

from __future__ import annotations

import pytest

from headrace.codecs.kafka.generated.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from headrace.frontends.kafka.handlers.api_57_update_features import handle
from headrace.security.acl import CLUSTER_NAME, Operation, ResourceType
from headrace.testing.metadata_bench import MetadataBench

from .administrator import CLUSTER_AUTHORIZATION_FAILED, Administrator

NONE, INVALID_REQUEST, KAFKA_STORAGE_ERROR, INVALID_UPDATE_VERSION = 0, 42, 56, 95
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
TRANSACTIONS = "transaction.version"


@pytest.fixture
def bench() -> MetadataBench:
    return MetadataBench()


def to(
    level: int, upgrade_type: int = SAFE_DOWNGRADE, name: str = TRANSACTIONS
) -> FeatureUpdateKey:
    return FeatureUpdateKey(name, level, upgrade_type=upgrade_type)


def update(
    admin: Administrator, *wishes: FeatureUpdateKey, validate_only: bool = False, version: int = 2
) -> int:
    request = UpdateFeaturesRequest(1_000, wishes, validate_only)
    answer = admin.ask(handle, version, request)
    assert (answer.error_message is None) == (answer.error_code == NONE)
    return int(answer.error_code)


@pytest.mark.parametrize("kind", [SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
def test_level_goes_down_and_up_and_survives_a_crash(bench: MetadataBench, kind: int) -> None:
    assert update(Administrator(bench), to(0, kind)) == NONE
    bench.restart(clean=False, power_loss=True)
    assert bench.store.state.features.get(TRANSACTIONS, 0) == 0
    assert update(Administrator(bench), to(1, UPGRADE)) == NONE
    bench.restart(clean=False, power_loss=True)
    assert bench.store.state.features[TRANSACTIONS] == 1


def test_validation_alone_changes_nothing(bench: MetadataBench) -> None:
    before = dict(bench.store.state.features)
    assert update(Administrator(bench), to(0), validate_only=True) == NONE
    assert update(Administrator(bench), to(9), validate_only=True) == INVALID_UPDATE_VERSION
    assert bench.store.state.features == before


@pytest.mark.parametrize(
    "wish", [to(0, UPGRADE), to(0, 0), to(0, 4), to(3, UPGRADE), to(-1), to(1, UPGRADE, "other")]
)
def test_one_refused_update_fails_all(bench: MetadataBench, wish: FeatureUpdateKey) -> None:
    before = dict(bench.store.state.features)
    other = to(0, SAFE_DOWNGRADE, "eligible.leader.replicas.version")
    assert update(Administrator(bench), other, wish) == INVALID_UPDATE_VERSION
    assert bench.store.state.features == before


def test_feature_that_is_named_twice_is_refused(bench: MetadataBench) -> None:
    assert update(Administrator(bench), to(1), to(0)) == INVALID_REQUEST


def test_first_version_says_only_whether_a_downgrade_is_allowed(bench: MetadataBench) -> None:
    admin = Administrator(bench)
    refused = FeatureUpdateKey(TRANSACTIONS, 1, allow_downgrade=False)
    assert update(admin, refused, version=0) == INVALID_UPDATE_VERSION
    allowed = FeatureUpdateKey(TRANSACTIONS, 1, allow_downgrade=True)
    assert update(admin, allowed, version=0) == NONE
    assert bench.store.state.features[TRANSACTIONS] == 1


@pytest.mark.parametrize(("version", "told"), [(0, [TRANSACTIONS]), (1, [TRANSACTIONS]), (2, [])])
def test_results_per_feature_end_with_version_one(
    bench: MetadataBench, version: int, told: list[str]
) -> None:
    wish = FeatureUpdateKey(TRANSACTIONS, 2)
    answer = Administrator(bench).ask(handle, version, UpdateFeaturesRequest(1_000, [wish]))
    assert [(result.feature, result.error_code) for result in answer.results] == [
        (name, NONE) for name in told
    ]


def test_failing_disk_is_told(bench: MetadataBench) -> None:
    bench.disk.fail_next("sync")
    answer = Administrator(bench).ask(handle, 1, UpdateFeaturesRequest(1_000, [to(0)]))
    codes = [answer.error_code, *(result.error_code for result in answer.results)]
    assert codes == [KAFKA_STORAGE_ERROR, KAFKA_STORAGE_ERROR]


def test_right_to_alter_the_cluster_is_needed(bench: MetadataBench) -> None:
    before = dict(bench.store.state.features)
    admin = Administrator(bench, is_allowed=False)
    assert update(admin, to(0)) == CLUSTER_AUTHORIZATION_FAILED
    assert bench.store.state.features == before
    assert admin.asked == [(Operation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)]
