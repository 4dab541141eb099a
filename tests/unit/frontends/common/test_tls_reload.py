"""New certificates without a restart."""

from __future__ import annotations

import asyncio
import logging
import os
from datetime import UTC, datetime

import pytest

from headrace.frontends.common.tls_reload import TlsReload
from headrace.security.tls_certificates import Authority
from headrace.security.tls_context import ListenerTls, TlsFiles


class Files:
    def __init__(self, path) -> None:
        self.path = path
        self.authority = Authority("authority", datetime.now(UTC), 1)
        self.replace()

    def replace(self) -> None:
        pair = self.authority.server(["localhost"])
        self.put(pair.key + pair.certificate)

    def put(self, content: bytes) -> None:
        """As tools do it: a new file takes the old one's place."""
        new = self.path.with_suffix(".new")
        new.write_bytes(content)
        os.replace(new, self.path)


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path / "server.pem")


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def test_files_that_have_not_changed_are_left_alone(files, loop):
    tls = ListenerTls(TlsFiles(str(files.path)))
    reload, before = TlsReload(loop, tls, 1.0), tls.context
    assert not reload.reload_if_changed()
    assert tls.context is before


def test_changed_file_is_taken_once(files, loop):
    tls = ListenerTls(TlsFiles(str(files.path)))
    reload, before = TlsReload(loop, tls, 1.0), tls.context
    files.replace()
    assert reload.reload_if_changed()
    assert tls.context is not before
    assert not reload.reload_if_changed()


@pytest.mark.parametrize("content", [b"not PEM", b""])
def test_file_that_is_not_good_is_told_of_once_and_the_old_stays(files, loop, content, caplog):
    tls = ListenerTls(TlsFiles(str(files.path)))
    reload, before = TlsReload(loop, tls, 1.0), tls.context
    files.put(content)
    with caplog.at_level(logging.WARNING):
        assert not reload.reload_if_changed()
        assert not reload.reload_if_changed()
    assert len(caplog.records) == 1
    assert "the old stay" in caplog.text
    assert tls.context is before
    files.replace()
    assert reload.reload_if_changed()


def test_file_that_is_gone_does_not_end_anything(files, loop):
    tls = ListenerTls(TlsFiles(str(files.path)))
    reload = TlsReload(loop, tls, 1.0)
    files.path.unlink()
    assert not reload.reload_if_changed()
    files.replace()
    assert reload.reload_if_changed()


def test_timer_looks_again_and_again_until_it_is_stopped(files):
    async def scenario() -> None:
        tls = ListenerTls(TlsFiles(str(files.path)))
        reload = TlsReload(asyncio.get_running_loop(), tls, 0.005)
        reload.start()
        for _ in range(2):
            before = tls.context
            files.replace()
            async with asyncio.timeout(5):
                while tls.context is before:  # noqa: ASYNC110 (it has no event)
                    await asyncio.sleep(0.001)
        reload.stop()

    asyncio.run(scenario())
