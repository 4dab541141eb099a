import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from headrace.model.errors import InvalidConfig
from headrace.security.key_set_source import is_file, raise_if_unsafe, read_key_set
from headrace.security.token_validation import KEY_SET_BYTES_MAX

KEY = ec.generate_private_key(ec.SECP256R1())
KEYS = json.dumps({"keys": [ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True)]}).encode()


class Server:
    """Answers each path with what it is told."""

    def __init__(self):
        answers = self.answers = {}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                status, headers, body = answers[self.path]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                """Not on the terminal."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.stop()


def test_keys_come_from_a_file(tmp_path):
    path = tmp_path / "with space.json"
    path.write_bytes(KEYS)
    assert is_file(path.as_uri())
    assert len(read_key_set(path.as_uri())) == 1


def test_keys_come_from_a_server_on_this_machine(server):
    server.answers["/keys"] = (200, {}, KEYS)
    assert len(read_key_set(f"{server.url}/keys")) == 1


@pytest.mark.parametrize(
    "url", ["http://example.org/keys", "ftp://127.0.0.1/keys", "keys.json", "data:,{}", ""]
)
def test_places_that_others_could_change_are_refused(url):
    with pytest.raises(InvalidConfig, match="https"):
        raise_if_unsafe(url)
    with pytest.raises(InvalidConfig, match="https"):
        read_key_set(url)


@pytest.mark.parametrize("url", ["https://example.org/keys", "file:/keys", "http://localhost:1/"])
def test_safe_places_are_taken(url):
    raise_if_unsafe(url)


def test_redirection_to_an_unsafe_place_is_refused(server):
    server.answers["/moved"] = (302, {"Location": "ftp://127.0.0.1/keys"}, b"")
    with pytest.raises(InvalidConfig):
        read_key_set(f"{server.url}/moved")


@pytest.mark.parametrize(
    "answer",
    [
        (404, {}, b"no"),
        (200, {}, b"not JSON"),
        (200, {}, b'{"keys": []}'),
        (200, {}, b"[" * (KEY_SET_BYTES_MAX + 2)),
    ],
)
def test_bad_answer_is_refused_with_its_address(server, answer):
    server.answers["/keys"] = answer
    with pytest.raises(InvalidConfig, match="/keys"):
        read_key_set(f"{server.url}/keys")


def test_missing_file_and_silent_server_are_refused_by_name(tmp_path):
    with pytest.raises(InvalidConfig, match="No such file"):
        read_key_set((tmp_path / "none").as_uri())
    stopped = Server()
    stopped.stop()
    with pytest.raises(InvalidConfig, match=stopped.url):
        read_key_set(f"{stopped.url}/keys")
