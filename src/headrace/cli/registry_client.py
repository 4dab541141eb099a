"""Talking to a schema registry, ours or Confluent's, and what its refusals mean on the command
line. Plain HTTP with the standard library: no package is needed."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit
from urllib.request import ProxyHandler, Request, build_opener

from headrace.cli.exit_codes import ExitCode, Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
ANSWER_BYTES_MAX = 64 * 2**20
PAGE_LENGTH = 1_000
_MEANINGS = {
    404: ExitCode.NOT_FOUND,
    422: ExitCode.USAGE,
    501: ExitCode.MISSING_DEPENDENCY,
}


class RegistryClient:
    """One registry at one URL, which may carry a user and a password."""

    def __init__(self, url: str, timeout_seconds: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Failure(f"--registry {url}: expected http://HOST:PORT", ExitCode.USAGE)
        host = parts.netloc.rpartition("@")[2]
        self._base = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": CONTENT_TYPE, "Content-Type": CONTENT_TYPE}
        if parts.username is not None:
            secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(secret.encode()).decode()}"
        self._timeout_seconds = timeout_seconds
        # As other verbs: straight to the address, not through a proxy of the environment.
        self._opener = build_opener(ProxyHandler({}))

    def call(self, method: str, path: str, body: dict[str, Any] | None = None, **query: Any) -> Any:
        """The answer; Failure if the registry refuses, or does not answer."""
        given = {name: _text(value) for name, value in query.items() if value not in (None, False)}
        url = f"{self._base}{path}{'?' if given else ''}{urlencode(given)}"
        content = None if body is None else json.dumps(body).encode()
        request = Request(url, content, self._headers, method=method)
        try:
            with self._opener.open(request, timeout=self._timeout_seconds) as answer:
                return json.loads(answer.read(ANSWER_BYTES_MAX))
        except HTTPError as error:
            raise _failure(error) from error
        except (URLError, TimeoutError, ConnectionError) as error:
            raise Failure(
                f"no schema registry answers at {self._base}: start one with 'headrace serve', or "
                "pass --registry URL",
                ExitCode.CANNOT_CONNECT,
            ) from error
        except ValueError as error:
            raise Failure(f"what answers at {self._base} is no schema registry") from error

    def schemas(self, **query: Any) -> Iterator[dict[str, Any]]:
        """All versions that match, page by page."""
        offset = 0
        while True:
            page = self.call("GET", "/schemas", limit=PAGE_LENGTH, offset=offset or None, **query)
            yield from page
            if len(page) < PAGE_LENGTH:
                return
            offset += len(page)


def subject_path(subject: str) -> str:
    """A subject may have any characters, a ``/`` too."""
    return f"/subjects/{quote(subject, safe='')}"


def version_path(subject: str, version: object | None) -> str:
    """One version of a subject, or all of them."""
    versions = f"{subject_path(subject)}/versions"
    return versions if version is None else f"{versions}/{quote(str(version), safe='')}"


def _text(value: object) -> str:
    return "true" if value is True else str(value)


def _failure(error: HTTPError) -> Failure:
    with error:
        content = error.read(ANSWER_BYTES_MAX)
    try:
        message = str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the registry answers {error.code} {error.reason}"
    return Failure(message, _MEANINGS.get(error.code, ExitCode.FAILED))
