"""A directory behind the protocol of S3, read-only: the place of an object store, without one.

Enough of it for obstore: ranged gets, heads, and lists with a delimiter. It counts the reads of
segments, so that a test can tell whether somebody came this way.
"""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from email.utils import formatdate
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUCKET = "broker"
SEGMENT_SUFFIX = ".log"
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_LISTED_AT = "2026-01-01T00:00:00.000Z"


class StoredDirectory(NamedTuple):
    """What clients need to know, and what they did."""

    url: str
    environment: dict[str, str]
    segment_reads: list[str]
    """Names of segments, once for each get."""


@contextmanager
def directory_as_object_store(directory: Path) -> Iterator[StoredDirectory]:
    reads: list[str] = []
    handler = type("Handler", (_Handler,), {"directory": directory, "segment_reads": reads})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_SKIP_SIGNATURE": "true",
        "AWS_REGION": "us-east-1",
    }
    try:
        yield StoredDirectory(f"s3://{BUCKET}", environment, reads)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    directory: Path
    segment_reads: list[str]

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        key = unquote(parts.path).removeprefix(f"/{BUCKET}").lstrip("/")
        query = parse_qs(parts.query)
        if "list-type" in query:
            self._answer(HTTPStatus.OK, self._listing(query.get("prefix", [""])[0]), {})
        else:
            self._object(key, with_body=True)

    def do_HEAD(self) -> None:
        self._object(unquote(urlsplit(self.path).path).removeprefix(f"/{BUCKET}/"), with_body=False)

    def _object(self, key: str, *, with_body: bool) -> None:
        path = self.directory / key
        if not path.is_file():
            self._answer(HTTPStatus.NOT_FOUND, b"<Error><Code>NoSuchKey</Code></Error>", {})
            return
        data, status = path.read_bytes(), path.stat()
        headers = {
            "ETag": f'"{status.st_ino}-{len(data)}"',
            "Last-Modified": formatdate(status.st_mtime, usegmt=True),
        }
        if with_body and key.endswith(SEGMENT_SUFFIX):
            self.segment_reads.append(key)
        wanted = _RANGE.fullmatch(self.headers.get("Range", ""))
        if wanted is None:
            self._answer(HTTPStatus.OK, data, headers, with_body=with_body)
            return
        start, end = int(wanted[1]), min(int(wanted[2] or len(data)) + 1, len(data))
        if start >= len(data):
            self._answer(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, b"", {})
            return
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        self._answer(HTTPStatus.PARTIAL_CONTENT, data[start:end], headers, with_body=with_body)

    def _listing(self, prefix: str) -> bytes:
        """Of one directory, as a delimiter asks for it."""
        folder = self.directory / prefix
        files = sorted(path for path in folder.glob("*") if path.is_file())
        contents = "".join(
            f"<Contents><Key>{escape(prefix + path.name)}</Key><LastModified>{_LISTED_AT}"
            f"</LastModified><ETag>&quot;{path.stat().st_ino}-{path.stat().st_size}&quot;</ETag>"
            f"<Size>{path.stat().st_size}</Size></Contents>"
            for path in files
        )
        head = f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false"
        return f"<ListBucketResult>{head}</IsTruncated>{contents}</ListBucketResult>".encode()

    def _answer(
        self, status: HTTPStatus, body: bytes, headers: dict[str, str], *, with_body: bool = True
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Quiet: what matters is counted."""
