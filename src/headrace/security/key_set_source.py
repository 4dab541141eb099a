"""Reads the keys that tokens are signed with (JWKS) from a file or from a server. Blocks.

Only ``file:`` and ``https:`` are taken, since whoever can change the keys can log in as anybody;
``http:`` only from this machine, where a sidecar may serve them.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException
from urllib.parse import unquote, urlsplit

from headrace.model.errors import InvalidConfig
from headrace.security.token_validation import KEY_SET_BYTES_MAX, KeySet

FETCH_SECONDS_MAX = 10.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_file(url: str) -> bool:
    """Whether the keys are in a file."""
    return urlsplit(url).scheme == "file"


def raise_if_unsafe(url: str) -> None:
    """InvalidConfig for anything but a file, https, or http on this machine."""
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and parts.hostname in _LOOPBACK
    if not (parts.scheme in ("file", "https") or is_local):
        raise InvalidConfig(f"the key set {url}: expected file:/PATH or https://HOST/PATH")


def read_key_set(url: str) -> KeySet:
    """The keys that are there now; InvalidConfig says why they cannot be had."""
    raise_if_unsafe(url)
    try:
        text = _read_file(url) if is_file(url) else _fetch(url)
        return KeySet.from_jwks(text)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        raise InvalidConfig(f"the key set {url} cannot be read: {reason}") from error
    except InvalidConfig as error:
        raise InvalidConfig(f"{url}: {error.message}") from error


def _read_file(url: str) -> bytes:
    with open(unquote(urlsplit(url).path), "rb") as file:
        return file.read(KEY_SET_BYTES_MAX + 1)


def _fetch(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    # The scheme was checked, also where we are sent on to.
    with urllib.request.urlopen(request, timeout=FETCH_SECONDS_MAX) as response:
        raise_if_unsafe(response.geturl())
        content: bytes = response.read(KEY_SET_BYTES_MAX + 1)
        return content
