"""The API as a client sees it: paths, codes and bodies, without a socket."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from headrace.broker import schema_store
from headrace.broker.schema_store import SchemaStore
from headrace.frontends.http.registry.requests import BODY_BYTES_MAX
from headrace.model.errors import DiskFull
from headrace.schemas import kinds
from headrace.schemas.model import SCHEMA_BYTES_MAX

from .door import CONTENT_TYPE, Door

if TYPE_CHECKING:
    from collections.abc import Callable

INT, LONG, TEXT = ({"schema": text} for text in ('"int"', '"long"', '"string"'))


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
    assert door.ask("GET", "/subjects/").body == ["a/b"]
    assert door.ask("GET", "/subjects/a%2Fb/versions").body == [1]
    assert door.ask("GET", "/subjects/:.:a%2Fb/versions").body == [1]
    assert door.ask("GET", "/subjects/a%2Fb/versions/1/schema").body == "int"
    assert door.ask("GET", "/schemas").body == [version]
    assert door.ask("GET", "/schemas/ids/1?fetchMaxId=true").body == {"schema": '"int"', "maxId": 1}
    assert door.ask("GET", "/schemas/ids/1/schema").body == "int"
    assert door.ask("GET", "/schemas/ids/1/subjects").body == ["a/b"]
    assert door.ask("GET", "/schemas/ids/1/versions").body == [{"subject": "a/b", "version": 1}]
    assert door.ask("GET", "/schemas/types").body == ["JSON", "PROTOBUF", "AVRO"]
    assert door.ask("GET", "/contexts").body == ["."]
    assert door.ask("GET", "/").body == {}


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
        ("POST", "/subjects/s/versions", {"schema": "[" * 200 + "]" * 200}, (422, 42201)),
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
        ("POST", "/subjects/:.other:s/versions", INT, (422, 42208)),
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
    refused = door.ask(method, target, body)
    assert refused.code == code
    assert refused.headers[b"content-type"] == CONTENT_TYPE
    after = door.store.state
    assert (after.subjects(deleted=True), after.versions("s")) == (["s"], versions)
    assert (after.levels, after.modes, after.id_highest) == (levels, modes, 1)


def test_refused_method_is_told_which_there_are(door: Door) -> None:
    allowed = door.ask("PUT", "/subjects/s").headers[b"allow"].decode().split(", ")
    assert sorted(allowed) == ["DELETE", "POST"]


def test_other_media_type_is_refused(door: Door) -> None:
    assert door.ask("POST", "/subjects/s/versions", INT, b"text/xml").code == (415, 415)


def test_length_is_refused_before_the_body_is_read(door: Door) -> None:
    announced = ((b"content-length", b"9999999999"),)
    target = "/subjects/s/versions"
    assert door.ask("POST", target, INT, headers=announced).code == (422, 42209)


def test_web_page_from_elsewhere_changes_nothing(door: Door) -> None:
    origin = ((b"origin", b"https://example.com"),)
    assert door.ask("POST", "/subjects/s/versions", INT, headers=origin).code == (403, 403)
    assert door.ask("DELETE", "/subjects/s", headers=origin).code == (403, 403)
    assert door.ask("GET", "/subjects", headers=origin).body == []


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


def test_id_is_not_given_again_after_it_has_gone_for_good(door: Door) -> None:
    door.ask("POST", "/subjects/s/versions", INT)
    door.ask("DELETE", "/subjects/s")
    door.ask("DELETE", "/subjects/s?permanent=true")
    door.restart()
    assert door.ask("POST", "/subjects/s/versions", TEXT).body == {"id": 2}


def test_lists_come_in_pages(door: Door) -> None:
    for name in ("a1", "a2", "b1"):
        door.ask("POST", f"/subjects/{name}/versions", INT)
    door.ask("POST", "/subjects/a1/versions", LONG)
    assert door.ask("GET", "/subjects?subjectPrefix=a").body == ["a1", "a2"]
    assert door.ask("GET", "/subjects?subjectPrefix=:*:&offset=1&limit=1").body == ["a2"]
    newest = door.ask("GET", "/schemas?latestOnly=true&subjectPrefix=a").body
    assert [(view["subject"], view["version"]) for view in newest] == [("a1", 2), ("a2", 1)]
    third = door.ask("GET", "/schemas?offset=2&limit=1").body
    assert [(view["subject"], view["version"]) for view in third] == [("a2", 1)]


def test_disk_that_refuses_is_told(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*anything: object) -> None:
        raise DiskFull("no space")

    monkeypatch.setattr(SchemaStore, "commit", refuse)
    assert door.ask("POST", "/subjects/s/versions", INT).code == (500, 50001)
    assert door.store.state.subject_count == 0


def test_sync_that_fails_is_told(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(number: int, callback: Callable[[BaseException | None], None]) -> None:
        callback(DiskFull("no space"))

    monkeypatch.setattr(door.bench.logs, "when_durable", fail)
    assert door.ask("POST", "/subjects/s/versions", INT).code == (500, 50001)
    assert door.store.state.subject_count == 0


def test_registry_that_is_being_read_asks_for_patience(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    door.ask("POST", "/subjects/s/versions", INT)
    monkeypatch.setattr(schema_store, "LOADED_BEFORE_SERVING_BYTES_MAX", 1)
    door.restart()
    for method, target in (("GET", "/subjects"), ("DELETE", "/subjects/s")):
        early = door.ask(method, target)
        assert early.code == (503, 50004)
        assert early.headers[b"retry-after"] == b"1"
    door.bench.background.advance(0)
    assert door.ask("GET", "/subjects").body == ["s"]


def test_kind_that_is_not_installed_names_the_extra(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "headrace.schemas.avro_schema", None)
    monkeypatch.setattr(kinds, "find_spec", lambda module: None if module == "avro" else module)
    refused = door.ask("POST", "/subjects/s/versions", INT)
    assert refused.code == (501, 501)
    assert "pip install 'headrace[registry]'" in refused.body["message"]
    assert door.ask("GET", "/schemas/types").body == ["JSON", "PROTOBUF"]


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
