"""Changes of client quotas become records, or nothing at all."""

from __future__ import annotations

import pytest

from headrace.coordination.metadata import quotas as module
from headrace.coordination.metadata.quotas import QuotaChange, decide_quotas
from headrace.coordination.metadata.records import ClientQuotaRecord
from headrace.coordination.metadata.state import MetadataState
from headrace.model.errors import InvalidRequest, LimitReached
from headrace.quotas.entities import DEFAULT, QuotaEntity

ALICE, ANYBODY = QuotaEntity("alice"), QuotaEntity(DEFAULT)
PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"


@pytest.fixture
def state() -> MetadataState:
    state = MetadataState()
    state.replay(ClientQuotaRecord(ALICE, PRODUCE, 100.0))
    return state


def test_only_what_differs_is_written(state: MetadataState) -> None:
    changes = [QuotaChange(PRODUCE, 100.0), QuotaChange(FETCH, 50.0)]
    assert decide_quotas(state, ALICE, changes) == [ClientQuotaRecord(ALICE, FETCH, 50.0)]


def test_quota_is_taken_away_once(state: MetadataState) -> None:
    changes = [QuotaChange(PRODUCE, None), QuotaChange(FETCH, None)]
    (record,) = decide_quotas(state, ALICE, changes)
    assert record == ClientQuotaRecord(ALICE, PRODUCE, None)
    state.replay(record)
    assert decide_quotas(state, ALICE, changes) == []
    assert len(state.quotas) == 0


@pytest.mark.parametrize(
    "changes",
    [
        [QuotaChange(FETCH, 50.0), QuotaChange(PRODUCE, 0.0)],
        [QuotaChange(FETCH, 50.0), QuotaChange("no_such_quota", 1.0)],
        [QuotaChange(FETCH, 50.0), QuotaChange(FETCH, 60.0)],
        [QuotaChange(FETCH, 50.0), QuotaChange(FETCH, None)],
    ],
)
def test_one_wrong_change_spoils_them_all(state: MetadataState, changes: list[QuotaChange]) -> None:
    with pytest.raises(InvalidRequest):
        decide_quotas(state, ALICE, changes)


def test_quota_of_an_unknown_name_can_be_taken_away(state: MetadataState) -> None:
    state.replay(ClientQuotaRecord(ALICE, "of_the_future", 1.0))
    changes = [QuotaChange("of_the_future", None)]
    assert decide_quotas(state, ALICE, changes) == [ClientQuotaRecord(ALICE, "of_the_future", None)]


def test_number_of_entities_has_a_limit(
    state: MetadataState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ENTITIES_MAX", 1)
    assert decide_quotas(state, ALICE, [QuotaChange(FETCH, 50.0)])
    assert decide_quotas(state, ANYBODY, [QuotaChange(FETCH, None)]) == []
    with pytest.raises(LimitReached):
        decide_quotas(state, ANYBODY, [QuotaChange(FETCH, 50.0)])
