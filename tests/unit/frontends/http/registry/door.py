"""The application as a client sees it, without a socket: it speaks ASGI."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NamedTuple

from headrace.broker.schema_store import SchemaStore
from headrace.frontends.http.registry.application import registry_application
from headrace.testing.metadata_bench import MetadataBench

CONTENT_TYPE = b"application/vnd.schemaregistry.v1+json"
SECONDS_MAX = 30.0


class Answer(NamedTuple):
    status: int
    body: Any
    headers: dict[bytes, bytes]

    @property
    def code(self) -> tuple[int, int]:
        return self.status, self.body["error_code"]


class Door:
    """A registry over a simulated disk."""

    def __init__(self) -> None:
        self.bench = MetadataBench()
        self.open()

    def open(self) -> None:
        bench = self.bench
        self.store = SchemaStore(
            bench.store, bench.topics, bench.changes, bench.logs, bench.clock, bench.background
        )
        self.store.start()

    def restart(self) -> None:
        self.bench.restart(clean=False)
        self.open()

    def ask(
        self,
        method: str,
        target: str,
        body: Any = None,
        media: bytes = CONTENT_TYPE,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> Answer:
        path, _, query = target.partition("?")
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(b"content-type", media), *headers],
        }
        return asyncio.run(self._exchange(scope, content))

    async def _exchange(self, scope: dict[str, Any], content: bytes) -> Answer:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asked = asyncio.create_task(registry_application(self.store)(scope, receive, send))
        async with asyncio.timeout(SECONDS_MAX):
            while not asked.done():
                self.bench.settle()  # the simulated disk syncs when it is told to
                await asyncio.sleep(0.0005)
        asked.result()
        body = b"".join(part.get("body", b"") for part in sent[1:])
        return Answer(sent[0]["status"], json.loads(body), dict(sent[0]["headers"]))
