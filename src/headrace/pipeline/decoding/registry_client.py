"""Schemas from a registry with Confluent's HTTP interface, by their ids.

Only answers are kept, and an id never changes its meaning, so a kept one is never stale. A registry
that does not answer is an error that can be tried again, never a reason to park records.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from typing import Any, NamedTuple
from urllib.parse import quote

from headrace.pipeline.decoding.errors import RegistryUnreachable, SchemaNotRegistered

TIMEOUT_SECONDS = 10.0
ANSWER_BYTES_MAX = 16 * 1024 * 1024
SCHEMAS_MAX = 10_000
REFERENCES_MAX = 200

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"
NOT_FOUND = 404


class RegistrySettings(NamedTuple):
    """Where a registry is, and who asks."""

    url: str
    user: str | None = None
    password: str | None = None


class Reference(NamedTuple):
    """A schema that another one names."""

    name: str
    text: str


class RegisteredSchema(NamedTuple):
    """Texts of Protobuf are descriptors in base64."""

    kind: str
    text: str
    references: tuple[Reference, ...] = ()
    """What a reference itself refers to comes before it."""


class RegistryClient:
    """Asks each question once."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._schemas: dict[int, RegisteredSchema] = {}

    def schema(self, schema_id: int) -> RegisteredSchema:
        """SchemaNotRegistered if there is none with this id."""
        known = self._schemas.get(schema_id)
        if known is None:
            known = self._registered(self._get(f"/schemas/ids/{schema_id}"))
            if len(self._schemas) < SCHEMAS_MAX:
                self._schemas[schema_id] = known
        return known

    def latest(self, subject: str) -> RegisteredSchema | None:
        """The newest schema of a subject, if there is one."""
        try:
            return self._registered(self._get(_version_path(subject, "latest")))
        except SchemaNotRegistered:
            return None

    def _registered(self, answer: dict[str, Any]) -> RegisteredSchema:
        references: dict[str, Reference] = {}
        self._collect(answer, references)
        return RegisteredSchema(
            answer.get("schemaType", AVRO), answer["schema"], tuple(references.values())
        )

    def _collect(self, answer: dict[str, Any], references: dict[str, Reference]) -> None:
        for one in answer.get("references") or ():
            if one["name"] in references:
                continue
            if len(references) >= REFERENCES_MAX:
                raise SchemaNotRegistered(f"a schema refers to more than {REFERENCES_MAX} others")
            below = self._get(_version_path(one["subject"], one["version"]))
            self._collect(below, references)
            references[one["name"]] = Reference(one["name"], below["schema"])

    def _get(self, path: str) -> dict[str, Any]:
        url = f"{self._settings.url.rstrip('/')}{path}?format=serialized"
        request = urllib.request.Request(url, headers=self._headers())
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
                answer = json.loads(response.read(ANSWER_BYTES_MAX))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == NOT_FOUND:
                    raise SchemaNotRegistered(f"the registry has no {path}") from None
                raise RegistryUnreachable(f"{url}: {error.code} {error.reason}") from error
        except (OSError, ValueError) as error:
            raise RegistryUnreachable(f"{url}: {error}") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("schema"), str):
            raise RegistryUnreachable(f"{url}: the answer has no schema")
        return answer

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self._settings.user is not None:
            pair = f"{self._settings.user}:{self._settings.password or ''}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return headers


def _version_path(subject: str, version: int | str) -> str:
    return f"/subjects/{quote(subject, safe='')}/versions/{version}"
