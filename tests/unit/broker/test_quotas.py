"""The door to quotas: in step with the metadata, each client on its own account."""

from __future__ import annotations

import pytest

from headrace.broker import quotas as module
from headrace.broker.quotas import THROTTLE_MS_MAX, WELCOME, Client, FetchVerdict, QuotaAlteration
from headrace.coordination.metadata.quotas import QuotaChange
from headrace.model.errors import (
    InvalidRequest,
    PolicyViolation,
    StorageFailure,
    ThrottlingQuotaExceeded,
)
from headrace.quotas.entities import DEFAULT, QuotaEntity
from headrace.quotas.filters import filter_of
from headrace.testing.metadata_bench import MetadataBench

PRODUCE, FETCH, REQUESTS = "producer_byte_rate", "consumer_byte_rate", "request_percentage"
MUTATIONS, CONNECTIONS = "controller_mutation_rate", "connection_creation_rate"
ALICE, BOB = Client("alice", "app"), Client("bob", "app")
EVERYTHING = filter_of([], is_strict=False)


@pytest.fixture
def bench() -> MetadataBench:
    return MetadataBench()


def limit(bench: MetadataBench, name: str, value: float | None, **entity: object) -> None:
    who = QuotaEntity(**(entity or {"user": "alice"}))  # type: ignore[arg-type]
    assert bench.quotas.alter([QuotaAlteration(who, [QuotaChange(name, value)])]) == [None]


# --- what is set ------------------------------------------------------------------------------


def test_nothing_is_counted_while_no_quota_is_set(bench: MetadataBench) -> None:
    assert not bench.quotas.is_active
    limit(bench, PRODUCE, 100)
    assert bench.quotas.is_active
    limit(bench, PRODUCE, None)
    assert not bench.quotas.is_active


@pytest.mark.parametrize("power_loss", [False, True])
def test_quotas_survive_a_restart(bench: MetadataBench, power_loss: bool) -> None:
    limit(bench, PRODUCE, 100)
    limit(bench, FETCH, 50, user=DEFAULT, client_id="app")
    bench.settle()
    bench.restart(clean=False, power_loss=power_loss)
    assert bench.quotas.is_active
    assert dict(bench.quotas.describe(EVERYTHING)) == {
        QuotaEntity("alice"): {PRODUCE: 100},
        QuotaEntity(DEFAULT, "app"): {FETCH: 50},
    }


def test_quotas_are_in_the_snapshot() -> None:
    bench = MetadataBench(log_size_bytes_max=4_096)
    for number in range(200):
        limit(bench, PRODUCE, number + 1)
        bench.settle()
    names = bench.disk.list("data/__cluster_metadata-0")
    assert any(name.endswith(".checkpoint") for name in names)
    bench.restart()
    assert dict(bench.quotas.describe(EVERYTHING)) == {QuotaEntity("alice"): {PRODUCE: 200}}


def test_only_trying_changes_nothing(bench: MetadataBench) -> None:
    wanted = [QuotaAlteration(QuotaEntity("alice"), [QuotaChange(PRODUCE, 100)])]
    assert bench.quotas.alter(wanted, validate_only=True) == [None]
    assert not bench.quotas.is_active


def test_what_is_right_is_done_though_something_else_is_wrong(bench: MetadataBench) -> None:
    outcomes = bench.quotas.alter(
        [
            QuotaAlteration(QuotaEntity("alice"), [QuotaChange(PRODUCE, 0)]),
            QuotaAlteration(QuotaEntity("bob"), [QuotaChange(PRODUCE, 100)]),
            QuotaAlteration(QuotaEntity("eve"), [QuotaChange(PRODUCE, 100)]),
            QuotaAlteration(QuotaEntity("eve"), [QuotaChange(FETCH, 100)]),
        ]
    )
    assert [type(outcome) for outcome in outcomes] == [
        InvalidRequest,
        type(None),
        InvalidRequest,
        InvalidRequest,
    ]
    assert dict(bench.quotas.describe(EVERYTHING)) == {QuotaEntity("bob"): {PRODUCE: 100}}


def test_too_many_changes_at_once_are_refused(
    bench: MetadataBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHANGES_MAX", 1)
    changes = [QuotaChange(PRODUCE, 100), QuotaChange(FETCH, 100)]
    with pytest.raises(PolicyViolation):
        bench.quotas.alter([QuotaAlteration(QuotaEntity("alice"), changes)])
    assert not bench.quotas.is_active


def test_full_disk_changes_nothing(bench: MetadataBench) -> None:
    bench.disk.fail_next("write")
    with pytest.raises(StorageFailure):
        limit(bench, PRODUCE, 100)
    assert not bench.quotas.is_active


# --- what is taken ----------------------------------------------------------------------------


def test_producer_waits_as_kafka_says_and_others_do_not(bench: MetadataBench) -> None:
    limit(bench, PRODUCE, 100)
    assert bench.quotas.count_produced(ALICE, 1_000) == 0
    assert bench.quotas.count_produced(ALICE, 1_000) == 10_000
    assert bench.quotas.count_produced(BOB, 10**9) == 0
    bench.clock.advance(11)
    assert bench.quotas.count_produced(ALICE, 1_000) == 0
    assert bench.metrics.throttled_requests == {PRODUCE: 1}
    assert bench.metrics.throttle_seconds == {PRODUCE: 10.0}


def test_time_that_fits_into_no_answer_is_cut(bench: MetadataBench) -> None:
    limit(bench, PRODUCE, 1)
    assert bench.quotas.count_produced(ALICE, 10**15) == THROTTLE_MS_MAX


def test_client_ids_of_a_user_share_its_quota(bench: MetadataBench) -> None:
    limit(bench, PRODUCE, 100)
    bench.quotas.count_produced(Client("alice", "one"), 1_000)
    assert bench.quotas.count_produced(Client("alice", "two"), 1_000) == 10_000


def test_a_changed_quota_holds_at_once(bench: MetadataBench) -> None:
    limit(bench, PRODUCE, 100)
    assert bench.quotas.count_produced(ALICE, 2_000) == 10_000
    limit(bench, PRODUCE, 1_000)
    assert bench.quotas.count_produced(ALICE, 1) == 0


def test_request_time_is_waited_for_at_most_a_window(bench: MetadataBench) -> None:
    limit(bench, REQUESTS, 1)
    assert bench.quotas.count_request(ALICE, 0.1) == 0
    assert bench.quotas.count_request(ALICE, 0.001) == 100
    assert bench.quotas.count_request(ALICE, 60) == 1_000


def test_windows_are_those_of_the_settings() -> None:
    bench = MetadataBench({"quota.window.num": "2", "quota.window.size.seconds": "5"})
    limit(bench, PRODUCE, 100)
    limit(bench, REQUESTS, 1)
    assert bench.quotas.count_produced(ALICE, 500) == 0
    assert bench.quotas.count_produced(ALICE, 500) == 5_000
    assert bench.quotas.count_request(ALICE, 60) == 5_000


def test_fetch_that_exceeds_the_quota_is_withheld_and_not_counted(bench: MetadataBench) -> None:
    limit(bench, FETCH, 100)
    assert bench.quotas.count_fetched(ALICE, 1_000) == WELCOME
    for _ in range(3):
        assert bench.quotas.count_fetched(ALICE, 500) == FetchVerdict(5_000, is_withheld=True)
    assert bench.quotas.count_fetched(BOB, 10**9) == WELCOME
    bench.clock.advance(11)
    assert bench.quotas.count_fetched(ALICE, 1_000) == WELCOME


def test_batch_that_is_too_large_for_the_quota_passes_some_day(bench: MetadataBench) -> None:
    limit(bench, FETCH, 100)
    assert bench.quotas.count_fetched(ALICE, 10) == WELCOME
    assert bench.quotas.count_fetched(ALICE, 5_000).is_withheld
    bench.clock.advance(11)
    assert bench.quotas.count_fetched(ALICE, 5_000) == FetchVerdict(40_000, is_withheld=False)
    assert bench.quotas.count_fetched(ALICE, 1).is_withheld


def test_empty_fetch_costs_nothing(bench: MetadataBench) -> None:
    limit(bench, FETCH, 1)
    bench.quotas.count_fetched(ALICE, 10**6)
    assert bench.quotas.count_fetched(ALICE, 0) == WELCOME


def test_fetch_is_no_larger_than_the_quota_could_let_pass(bench: MetadataBench) -> None:
    limit(bench, FETCH, 100)
    assert bench.quotas.fetch_bytes_max(ALICE) == 1_000
    assert bench.quotas.fetch_bytes_max(BOB) == 2**63 - 1


def test_strict_mutations_are_refused_until_the_debt_is_paid(bench: MetadataBench) -> None:
    limit(bench, MUTATIONS, 1)
    bench.quotas.mutations(ALICE, is_strict=True).take(11 + 5)
    mutations = bench.quotas.mutations(ALICE, is_strict=True)
    for _ in range(2):
        with pytest.raises(ThrottlingQuotaExceeded):
            mutations.take(1)
    assert mutations.throttle_ms == 5_000
    mutations.take(0)
    bench.quotas.mutations(BOB, is_strict=True).take(1_000)
    bench.clock.advance(5)
    bench.quotas.mutations(ALICE, is_strict=True).take(1)
    assert bench.metrics.throttled_requests == {MUTATIONS: 1}


def test_clients_that_do_not_know_the_error_wait_instead(bench: MetadataBench) -> None:
    limit(bench, MUTATIONS, 1)
    mutations = bench.quotas.mutations(ALICE, is_strict=False)
    mutations.take(11)
    assert mutations.throttle_ms == 0
    mutations.take(3)
    mutations.take(2)
    assert mutations.throttle_ms == 5_000


def test_connections_from_an_address_come_at_most_as_fast_as_allowed(bench: MetadataBench) -> None:
    limit(bench, CONNECTIONS, 2, ip="10.0.0.1")
    delays = [bench.quotas.connection_delay_ms("10.0.0.1") for _ in range(22)]
    assert delays == [0] * 20 + [500, 500]
    assert bench.quotas.connection_delay_ms("::ffff:10.0.0.1") == 500
    assert bench.quotas.connection_delay_ms("10.0.0.2") == 0
    bench.clock.advance(11)
    assert bench.quotas.connection_delay_ms("10.0.0.1") == 0


def test_accounts_are_forgotten_with_the_last_quota(bench: MetadataBench) -> None:
    limit(bench, PRODUCE, 100)
    bench.quotas.count_produced(ALICE, 2_000)
    limit(bench, PRODUCE, None)
    assert all(len(accounts) == 0 for accounts in bench.quotas._rates.values())
    limit(bench, PRODUCE, 100)
    assert bench.quotas.count_produced(ALICE, 1_000) == 0
