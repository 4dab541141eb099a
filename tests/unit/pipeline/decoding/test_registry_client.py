"""A registry over real HTTP, and one that misbehaves."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from headrace.pipeline.decoding.errors import RegistryUnreachable, SchemaNotRegistered
from headrace.pipeline.decoding.registry_client import (
    AVRO,
    PROTOBUF,
    Reference,
    RegisteredSchema,
    RegistryClient,
    RegistrySettings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Registry:
    """Answers by path: an object, or a status with a text. Counts what it is asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}
        self.asked: list[str] = []
        self.headers: list[str | None] = []
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                registry.asked.append(path)
                registry.headers.append(self.headers.get("Authorization"))
                answer = registry.answers.get(path, (404, "{}"))
                status, text = answer if isinstance(answer, tuple) else (200, json.dumps(answer))
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *arguments: object) -> None:
                """Silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def registry() -> Iterator[Registry]:
    made = Registry()
    yield made
    made.close()


def test_a_schema_is_asked_for_once(registry: Registry) -> None:
    registry.answers["/schemas/ids/7"] = {"schema": '"long"'}
    client = RegistryClient(RegistrySettings(registry.url))
    assert client.schema(7) == client.schema(7) == RegisteredSchema(AVRO, '"long"')
    assert registry.asked == ["/schemas/ids/7"]


def test_references_come_before_who_names_them(registry: Registry) -> None:
    def referring(schema: str, *names: str) -> dict[str, Any]:
        references = [{"name": name, "subject": f"s/{name}", "version": 1} for name in names]
        return {"schema": schema, "schemaType": PROTOBUF, "references": references}

    registry.answers = {
        "/schemas/ids/1": referring("top", "a", "b"),
        "/subjects/s%2Fa/versions/1": referring("A", "b"),
        "/subjects/s%2Fb/versions/1": referring("B"),
    }
    found = RegistryClient(RegistrySettings(registry.url)).schema(1)
    assert found.kind == PROTOBUF
    assert found.references == (Reference("b", "B"), Reference("a", "A"))


def test_who_asks_is_told(registry: Registry) -> None:
    registry.answers["/schemas/ids/7"] = {"schema": '"long"'}
    RegistryClient(RegistrySettings(registry.url, "me", "secret")).schema(7)
    assert registry.headers == [f"Basic {base64.b64encode(b'me:secret').decode()}"]


def test_unknown_schemas(registry: Registry) -> None:
    client = RegistryClient(RegistrySettings(registry.url))
    with pytest.raises(SchemaNotRegistered):
        client.schema(8)
    assert client.latest("orders-value") is None
    registry.answers["/subjects/orders-value/versions/latest"] = {"schema": '"long"'}
    assert client.latest("orders-value") == RegisteredSchema(AVRO, '"long"')


@pytest.mark.parametrize("answer", [(500, "{}"), (200, "no json"), (200, "[]"), (200, '{"a": 1}')])
def test_a_registry_that_is_ill_is_no_fault_of_records(
    registry: Registry, answer: tuple[int, str]
) -> None:
    registry.answers["/schemas/ids/7"] = answer
    with pytest.raises(RegistryUnreachable) as raised:
        RegistryClient(RegistrySettings(registry.url)).schema(7)
    assert raised.value.retriable


def test_a_registry_that_is_not_there() -> None:
    with pytest.raises(RegistryUnreachable):
        RegistryClient(RegistrySettings("http://127.0.0.1:1")).schema(7)
