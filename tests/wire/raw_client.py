"""A client that can misbehave: it sends what it is told, byte for byte."""

from __future__ import annotations

import socket
import struct
from typing import Any

from headrace.codecs.kafka import messages
from headrace.codecs.kafka.headers import decode_response_header, encode_request_header

TIMEOUT_SECONDS = 10


def request_frame(
    api_key: int, version: int, request: Any, correlation_id: int = 1, client_id: str = "raw"
) -> bytes:
    """The bytes of a request, its size in front."""
    body: list[Any] = []
    messages.request_encoder(api_key, version)(request, body)
    header = encode_request_header(api_key, version, correlation_id, client_id)
    data = header + b"".join(bytes(chunk) for chunk in body)
    return struct.pack(">i", len(data)) + data


class RawClient:
    """One connection."""

    def __init__(self, port: int, client_id: str = "raw") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS)
        self._correlation_id = 0
        self._client_id = client_id

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def frame(self, api_key: int, version: int, request: Any) -> bytes:
        """The bytes of the next request."""
        self._correlation_id += 1
        return request_frame(api_key, version, request, self._correlation_id, self._client_id)

    def send(self, api_key: int, version: int, request: Any) -> int:
        data = self.frame(api_key, version, request)
        self.socket.sendall(data)
        return self._correlation_id

    def receive(self, api_key: int, version: int) -> tuple[int, Any]:
        """(correlation id, response)"""
        size = struct.unpack(">i", self.read(4))[0]
        data = self.read(size)
        flexible = messages.response_header_is_flexible(api_key, version)
        correlation_id, position = decode_response_header(data, flexible)
        response, end = messages.response_decoder(api_key, version)(data, position)
        assert end == size, "the answer has bytes that nobody explains"
        return correlation_id, response

    def call(self, api_key: int, version: int, request: Any) -> Any:
        sent = self.send(api_key, version, request)
        received, response = self.receive(api_key, version)
        assert received == sent
        return response

    def read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError(f"closed after {len(data)} of {count} bytes")
            data += part
        return bytes(data)

    def is_closed_by_peer(self) -> bool:
        """Wait for the end of the connection; False if an answer comes instead."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
