"""An HTTP client that can misbehave: it sends what it is told, byte for byte."""

from __future__ import annotations

import json
import socket
from typing import Any, NamedTuple

TIMEOUT_SECONDS = 10.0


class HttpAnswer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class RawHttp:
    """One connection."""

    def __init__(self, url: str) -> None:
        port = int(url.rpartition(":")[2])
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)
        self._received = b""

    def __enter__(self) -> RawHttp:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, head: str, body: bytes = b"") -> None:
        """Request line and headers as lines; the empty line behind them is added."""
        text = "\r\n".join([*head.strip().splitlines(), "Host: registry", "", ""])
        self.socket.sendall(text.encode() + body)

    def ask(self, head: str, body: bytes = b"") -> HttpAnswer:
        self.send(head, body)
        return self.answer(is_head=head.strip().startswith("HEAD "))

    def answer(self, *, is_head: bool = False) -> HttpAnswer:
        """The next answer, which says its length."""
        while b"\r\n\r\n" not in self._received:
            self._receive()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        length = 0 if is_head else int(headers["content-length"])
        while len(self._received) < length:
            self._receive()
        body, self._received = self._received[:length], self._received[length:]
        return HttpAnswer(int(first.split()[1]), headers, body)

    def is_closed_by_server(self) -> bool:
        """Wait until the server hangs up, however it does; what it still says does not matter."""
        try:
            while self.socket.recv(65_536):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def _receive(self) -> None:
        data = self.socket.recv(65_536)
        if not data:
            raise ConnectionError("the server hung up")
        self._received += data
