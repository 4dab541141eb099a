"""The API as a client sees it: paths, codes and bodies, without a socket."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

import pytest

from headrace.broker.schema_store import SchemaStore
from headrace.frontends.http.schema_registry import BODY_BYTES_MAX, registry_application
from headrace.model.errors import DiskFull
from headrace.schemas.model import SCHEMA_BYTES_MAX
from headrace.testing.metadata_bench import MetadataBench

INT, LONG, TEXT = ({"schema": text} for text in ('"int"', '"long"', '"string"'))
CONTENT_TYPE = b"application/vnd.schemaregistry.v1+json"


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[bytes, bytes]

    @property
    def code(self) -> tuple[int, int]:
        return self.status, self.body["error_code"]


class Door:
    """Speaks ASGI to the application."""

    def __init__(self) -> None:
        bench = MetadataBench()
        self.store = SchemaStore(bench.topics, bench.changes, bench.logs, bench.clock)
        self.store.start()

    def ask(
        self, method: str, target: str, body: Any = None, media: bytes = CONTENT_TYPE
    ) -> Answer:
        path, _, query = target.partition("?")
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(b"content-type", media)],
        }
        return asyncio.run(self._exchange(scope, content))

    async def _exchange(self, scope: dict[str, Any], content: bytes) -> Answer:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await registry_application(self.store)(scope, receive, send)
        body = b"".join(part.get("body", b"") for part in sent[1:])
        return Answer(sent[0]["status"], json.loads(body), dict(sent[0]["headers"]))


@pytest.fixture
def door() -> Door:
    return Door()


def test_register_and_read_back(door: Door) -> None:
    registered = door.ask("POST", "/subjects/a%2Fb/versions", INT)
    assert registered.body == {"id": 1}
    assert registered.headers[b"content-type"] == CONTENT_TYPE
    version = {"subject": "a/b", "version": 1, "id": 1, "schema": '"int"'}
    for number in ("1", "latest", "-1"):
        assert door.ask("GET", f"/subjects/a%2Fb/versions/{number}").body == version
    assert door.ask("POST", "/subjects/a%2Fb", INT).body == version
    assert door.ask("GET", "/subjects").body == ["a/b"]
    assert door.ask("GET", "/subjects/a%2Fb/versions").body == [1]
    assert door.ask("GET", "/subjects/a%2Fb/versions/1/schema").body == "int"
    assert door.ask("GET", "/schemas/ids/1?fetchMaxId=true").body == {"schema": '"int"', "maxId": 1}
    assert door.ask("GET", "/schemas/ids/1/schema").body == "int"
    assert door.ask("GET", "/schemas/ids/1/subjects").body == ["a/b"]
    assert door.ask("GET", "/schemas/ids/1/versions").body == [{"subject": "a/b", "version": 1}]
    assert door.ask("GET", "/schemas/types").body == ["JSON", "PROTOBUF", "AVRO"]


@pytest.mark.parametrize(
    ("method", "target", "body", "code"),
    [
        ("GET", "/subjects/none/versions", None, (404, 40401)),
        ("GET", "/subjects/none/versions/1", None, (404, 40401)),
        ("POST", "/subjects/none", INT, (404, 40401)),
        ("DELETE", "/subjects/none", None, (404, 40401)),
        ("GET", "/subjects/s/versions/9", None, (404, 40402)),
        ("DELETE", "/subjects/s/versions/9", None, (404, 40402)),
        ("POST", "/compatibility/subjects/s/versions/9", INT, (404, 40402)),
        ("GET", "/schemas/ids/9", None, (404, 40403)),
        ("GET", "/schemas/ids/99999999999999", None, (404, 40403)),
        ("POST", "/subjects/s", LONG, (404, 40403)),
        ("DELETE", "/subjects/s?permanent=true", None, (404, 40405)),
        ("DELETE", "/subjects/s/versions/1?permanent=true", None, (404, 40407)),
        ("GET", "/config/s", None, (404, 40408)),
        ("DELETE", "/config/s", None, (404, 40408)),
        ("GET", "/mode/s", None, (404, 40409)),
        ("POST", "/subjects/s/versions", TEXT, (409, 409)),
        ("POST", "/subjects/s/versions", {"schema": "{"}, (422, 42201)),
        ("POST", "/subjects/s/versions", {}, (422, 42201)),
        ("POST", "/subjects/s/versions", {**INT, "schemaType": "XML"}, (422, 42201)),
        ("POST", "/subjects/s/versions", {**INT, "references": [{"name": "x"}]}, (422, 42201)),
        ("POST", "/subjects/s/versions", {**INT, "ruleSet": {"x": 1}}, (422, 42201)),
        ("POST", "/subjects/s/versions", {**LONG, "id": 5}, (422, 42205)),
        ("GET", "/subjects/s/versions/0", None, (422, 42202)),
        ("GET", "/subjects/s/versions/first", None, (422, 42202)),
        ("GET", "/subjects/s/versions/2147483648", None, (422, 42202)),
        ("PUT", "/config", {"compatibility": "SOME"}, (422, 42203)),
        ("PUT", "/mode", {"mode": "SOME"}, (422, 42204)),
        ("PUT", "/mode", {"mode": "IMPORT"}, (422, 42205)),
        ("POST", "/subjects/%0A/versions", INT, (422, 42208)),
        ("POST", "/subjects/%FF/versions", INT, (422, 42208)),
        ("POST", "/subjects/s/versions", {"schema": "x" * (SCHEMA_BYTES_MAX + 1)}, (422, 42209)),
        ("POST", "/subjects/s/versions", b" " * (BODY_BYTES_MAX + 1), (422, 42209)),
        ("POST", "/subjects/s/versions", b"{", (400, 400)),
        ("POST", "/subjects/s/versions", b"[" * 100_000, (400, 400)),
        ("POST", "/subjects/s/versions", [], (400, 400)),
        ("GET", "/subjects?offset=x", None, (400, 400)),
        ("GET", "/nowhere", None, (404, 404)),
        ("GET", "/schemas/ids/x", None, (404, 404)),
        ("PATCH", "/subjects", None, (405, 405)),
        ("PUT", "/subjects/s/versions", INT, (405, 405)),
    ],
    ids=str,
)  # fmt: skip
def test_refusals_change_nothing(
    door: Door, method: str, target: str, body: Any, code: tuple[int, int]
) -> None:
    door.ask("POST", "/subjects/s/versions", INT)
    before = door.store.state
    versions, levels, modes = before.versions("s"), dict(before.levels), dict(before.modes)
    assert door.ask(method, target, body).code == code
    after = door.store.state
    assert (after.subjects(deleted=True), after.versions("s")) == (["s"], versions)
    assert (after.levels, after.modes, after.id_highest) == (levels, modes, 1)


def test_other_media_type_is_refused(door: Door) -> None:
    assert door.ask("POST", "/subjects/s/versions", INT, b"text/xml").code == (415, 415)


def test_compatibility_is_told_with_reasons(door: Door) -> None:
    door.ask("POST", "/subjects/s/versions", INT)
    check = "/compatibility/subjects/s/versions"
    assert door.ask("POST", f"{check}/latest", LONG).body == {"is_compatible": True}
    refused = door.ask("POST", f"{check}?verbose=true", TEXT).body
    assert refused["is_compatible"] is False
    assert "type_mismatch" in refused["messages"][0]
    unknown = "/compatibility/subjects/none/versions/latest"
    assert door.ask("POST", unknown, INT).body == {"is_compatible": True}


def test_levels_of_all_and_of_one(door: Door) -> None:
    assert door.ask("GET", "/config").body == {"compatibilityLevel": "BACKWARD"}
    assert door.ask("PUT", "/config", {"compatibility": "full"}).body == {"compatibility": "FULL"}
    assert door.ask("PUT", "/config/s", {"compatibility": "NONE"}).status == 200
    assert door.ask("GET", "/config/s").body == {"compatibilityLevel": "NONE"}
    assert door.ask("DELETE", "/config/s").body == {"compatibilityLevel": "NONE"}
    default = door.ask("GET", "/config/s?defaultToGlobal=true").body
    assert default == {"compatibilityLevel": "FULL"}


def test_deleting_a_subject_twice(door: Door) -> None:
    door.ask("POST", "/subjects/s/versions", INT)
    assert door.ask("DELETE", "/subjects/s").body == [1]
    assert door.ask("DELETE", "/subjects/s").code == (404, 40404)
    assert door.ask("DELETE", "/subjects/s/versions/1").code == (404, 40406)
    assert door.ask("GET", "/subjects?deletedOnly=true").body == ["s"]
    assert door.ask("DELETE", "/subjects/s?permanent=true").body == [1]


def test_disk_that_refuses_is_told(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(records: object) -> int:
        raise DiskFull("no space")

    monkeypatch.setattr(SchemaStore, "commit", lambda store, records: refuse(records))
    assert door.ask("POST", "/subjects/s/versions", INT).code == (500, 50001)
    assert door.store.state.subject_count == 0


def test_protobuf_text_is_given_as_a_descriptor_on_demand(door: Door) -> None:
    text = 'syntax = "proto3"; message M { int32 a = 1; }'
    door.ask("POST", "/subjects/p/versions", {"schema": text, "schemaType": "PROTOBUF"})
    plain = door.ask("GET", "/schemas/ids/1").body
    assert plain == {"schemaType": "PROTOBUF", "schema": text}
    serialized = door.ask("GET", "/subjects/p/versions/1?format=serialized").body["schema"]
    again = {"schema": serialized, "schemaType": "PROTOBUF"}
    check = "/compatibility/subjects/p/versions/latest"
    assert door.ask("POST", check, again).body == {"is_compatible": True}


def test_unknown_draft_is_no_fault_of_the_registry(door: Door) -> None:
    schema = {"schema": '{"$schema":"urn:unknown"}', "schemaType": "JSON"}
    assert door.ask("POST", "/subjects/j/versions", schema).body == {"id": 1}
