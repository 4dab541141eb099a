"""DescribeClientQuotas and AlterClientQuotas, through their codecs."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.codecs.kafka.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from headrace.codecs.kafka.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from headrace.codecs.kafka.messages import (
    request_decoder,
    request_encoder,
    response_decoder,
    response_encoder,
)
from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.handlers import (
    api_48_describe_client_quotas,
    api_49_alter_client_quotas,
)
from headrace.testing.metadata_bench import MetadataBench
from tests.unit.frontends.kafka.handlers.administrator import (
    CLUSTER_AUTHORIZATION_FAILED,
    Administrator,
)

UNSUPPORTED_VERSION, INVALID_REQUEST = 35, 42
PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
EXACT, DEFAULT, ANY = 0, 1, 2
Entity = dict[str, str | None]


class Door:
    """Asks in one version, as a client would."""

    def __init__(self, version: int, *, is_allowed: bool = True) -> None:
        self.version = version
        self.bench = MetadataBench()
        self.administrator = Administrator(self.bench, is_allowed=is_allowed)

    def _ask(self, handler: Any, request: Any) -> Any:
        chunks: list[Any] = []
        request_encoder(handler.API_KEY, self.version)(request, chunks)
        decoded, _ = request_decoder(handler.API_KEY, self.version)(b"".join(chunks), 0)
        answer = self.administrator.ask(handler.handle, self.version, decoded)
        chunks = []
        response_encoder(handler.API_KEY, self.version)(answer, chunks)
        return response_decoder(handler.API_KEY, self.version)(b"".join(chunks), 0)[0]

    def describe(self, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
        wanted = [ComponentData(*component) for component in components]
        return self._ask(api_48_describe_client_quotas, DescribeClientQuotasRequest(wanted, strict))

    def described(self, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
        answer = self.describe(*components, strict=strict)
        assert (answer.error_code, answer.error_message) == (0, None)
        return [
            (
                {part.entity_type: part.entity_name for part in entry.entity},
                {value.key: value.value for value in entry.values},
            )
            for entry in answer.entries
        ]

    def alter(
        self, *entries: tuple[Entity, dict[str, float | None]], validate_only: bool = False
    ) -> list[int]:
        request = [
            RequestEntryData(
                [RequestEntityData(kind, name) for kind, name in entity.items()],
                [OpData(name, value or 0.0, value is None) for name, value in ops.items()],
            )
            for entity, ops in entries
        ]
        return self.alter_raw(request, validate_only=validate_only)

    def alter_raw(
        self, entries: list[RequestEntryData], *, validate_only: bool = False
    ) -> list[int]:
        answer = self._ask(
            api_49_alter_client_quotas, AlterClientQuotasRequest(entries, validate_only)
        )
        for entry in answer.entries:
            assert (entry.error_code == 0) == (entry.error_message is None)
        return [entry.error_code for entry in answer.entries]


@pytest.fixture(params=[0, 1], ids=lambda version: f"v{version}")
def door(request: pytest.FixtureRequest) -> Door:
    return Door(request.param)


def test_quotas_are_set_described_changed_and_removed(door: Door) -> None:
    alice: Entity = {"user": "alice"}
    assert door.alter((alice, {PRODUCE: 100.0, FETCH: 50.0})) == [0]
    assert door.described() == [(alice, {PRODUCE: 100.0, FETCH: 50.0})]
    assert door.alter((alice, {PRODUCE: 200.0, FETCH: None})) == [0]
    assert door.described() == [(alice, {PRODUCE: 200.0})]
    assert door.alter((alice, {PRODUCE: None, FETCH: None})) == [0]
    assert door.described() == []


def test_matches_are_exact_by_default_or_any(door: Door) -> None:
    quotas: list[tuple[Entity, dict[str, float | None]]] = [
        ({"user": "alice"}, {PRODUCE: 1.0}),
        ({"user": None}, {PRODUCE: 2.0}),
        ({"user": "alice", "client-id": None}, {PRODUCE: 3.0}),
        ({"client-id": "app"}, {PRODUCE: 4.0}),
        ({"ip": "10.0.0.1"}, {"connection_creation_rate": 5.0}),
    ]
    assert door.alter(*quotas) == [0] * 5
    alice, anybody, both, app, host = quotas
    assert door.described(("user", EXACT, "alice")) == [alice, both]
    assert door.described(("user", EXACT, "alice"), strict=True) == [alice]
    assert door.described(("user", DEFAULT, None)) == [anybody]
    assert door.described(("user", ANY, None), strict=True) == [alice, anybody]
    assert door.described(("user", ANY, None), ("client-id", DEFAULT, None)) == [both]
    assert door.described(("client-id", ANY, None)) == [both, app]
    assert door.described(("ip", ANY, None)) == [host]
    assert door.described(strict=True) == []


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("user", EXACT, None)], INVALID_REQUEST),
        ([("user", DEFAULT, "alice")], INVALID_REQUEST),
        ([("user", ANY, "alice")], INVALID_REQUEST),
        ([("user", 3, None)], INVALID_REQUEST),
        ([("", EXACT, "alice")], INVALID_REQUEST),
        ([("user", EXACT, "a"), ("user", ANY, None)], INVALID_REQUEST),
        ([("user", EXACT, "a"), ("ip", ANY, None)], INVALID_REQUEST),
        ([("group", EXACT, "a")], UNSUPPORTED_VERSION),
    ],
)
def test_wrong_filters_are_refused(door: Door, components: Any, code: int) -> None:
    answer = door.describe(*components)
    assert (answer.error_code, answer.entries) == (code, None)
    assert answer.error_message


@pytest.mark.parametrize(
    ("entity", "ops"),
    [
        ({}, {PRODUCE: 1.0}),
        ({"group": "g"}, {PRODUCE: 1.0}),
        ({"user": ""}, {PRODUCE: 1.0}),
        ({"user": "alice", "ip": "10.0.0.1"}, {PRODUCE: 1.0}),
        ({"ip": "no address"}, {"connection_creation_rate": 1.0}),
        ({"ip": "10.0.0.1"}, {PRODUCE: 1.0}),
        ({"user": "alice"}, {"connection_creation_rate": 1.0}),
        ({"user": "alice"}, {"no_such_quota": 1.0}),
        ({"user": "alice"}, {PRODUCE: 0.0}),
        ({"user": "alice"}, {PRODUCE: -5.0}),
        ({"user": "alice"}, {PRODUCE: 1.5}),
        ({"user": "alice"}, {FETCH: 100.0, PRODUCE: float("nan")}),
    ],
)
def test_wrong_changes_are_refused_and_the_others_made(door: Door, entity: Any, ops: Any) -> None:
    good: tuple[Entity, dict[str, float | None]] = ({"user": "bob"}, {PRODUCE: 1.0})
    assert door.alter((entity, ops), good) == [INVALID_REQUEST, 0]
    assert door.described() == [good]


def test_entity_that_is_named_twice_is_not_changed(door: Door) -> None:
    one: Entity = {"user": "alice", "client-id": "app"}
    other: Entity = {"client-id": "app", "user": "alice"}
    assert door.alter((one, {PRODUCE: 1.0}), (other, {FETCH: 1.0})) == [INVALID_REQUEST]
    assert door.described() == []


def test_part_or_quota_that_is_named_twice_is_refused(door: Door) -> None:
    alice = RequestEntityData("user", "alice")
    ops = [OpData(PRODUCE, 1.0, remove=False)]
    codes = door.alter_raw([RequestEntryData([alice, alice], ops)])
    codes += door.alter_raw([RequestEntryData([alice], [*ops, *ops])])
    assert codes == [INVALID_REQUEST, INVALID_REQUEST]
    assert door.described() == []


def test_only_trying_tells_errors_and_changes_nothing(door: Door) -> None:
    entries: Any = [({"user": "alice"}, {PRODUCE: 1.0}), ({"user": "bob"}, {PRODUCE: 0.0})]
    assert door.alter(*entries, validate_only=True) == [0, INVALID_REQUEST]
    assert door.described() == []


@pytest.mark.parametrize("version", [0, 1])
def test_whoever_may_not_is_told_so_and_nothing_else(version: int) -> None:
    door = Door(version, is_allowed=False)
    assert door.alter(({"user": "alice"}, {PRODUCE: 1.0})) == [CLUSTER_AUTHORIZATION_FAILED]
    answer = door.describe()
    assert (answer.error_code, answer.entries) == (CLUSTER_AUTHORIZATION_FAILED, None)
    asked = [(operation.name, kind.name) for operation, kind, _ in door.administrator.asked]
    assert asked == [("ALTER_CONFIGS", "CLUSTER"), ("DESCRIBE_CONFIGS", "CLUSTER")]
    assert not door.bench.quotas.is_active


def test_answer_waits_for_the_disk() -> None:
    door = Door(1)
    entry = RequestEntryData(
        [RequestEntityData("user", "alice")], [OpData(PRODUCE, 1.0, remove=False)]
    )
    context = door.administrator.context(1)
    answer = api_49_alter_client_quotas.handle(AlterClientQuotasRequest([entry]), context)
    assert isinstance(answer, Pending)
