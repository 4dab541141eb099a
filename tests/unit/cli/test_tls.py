"""``headrace tls self-signed``."""

from __future__ import annotations

import json
import ssl
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.cli.exit_codes import ExitCode
from headrace.cli.main import main
from headrace.security.tls_context import ClientAuth, TlsFiles, build_context

if TYPE_CHECKING:
    from pathlib import Path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_files_work_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "certs"
    assert main(["tls", "self-signed", str(directory), "--client", "alice"]) == 0
    said = capsys.readouterr().out
    assert f"ssl.keystore.location={directory}/server.pem" in said
    assert f"ssl.ca.location={directory}/ca.pem" in said
    files = TlsFiles(
        str(directory / "server.pem"),
        trust_file=str(directory / "ca.pem"),
        client_auth=ClientAuth.REQUIRED,
    )
    assert build_context(files).verify_mode is ssl.CERT_REQUIRED
    client = ssl.create_default_context(cafile=str(directory / "ca.pem"))
    client.load_cert_chain(directory / "client-alice.pem")


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    assert main(["tls", "self-signed", str(tmp_path), "--client", "alice"]) == 0
    assert {path.name: mode(path) for path in tmp_path.iterdir()} == {
        "ca.pem": 0o644,
        "server.pem": 0o600,
        "client-alice.pem": 0o600,
    }
    assert b"PRIVATE KEY" not in (tmp_path / "ca.pem").read_bytes()


def test_what_exists_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server.pem").write_text("mine")
    assert main(["tls", "self-signed", str(tmp_path)]) == ExitCode.EXISTS
    assert "server.pem exists" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["server.pem"]
    assert (tmp_path / "server.pem").read_text() == "mine"


def test_files_are_listed_for_scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tls", "self-signed", str(tmp_path), "--days", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "files": [str(tmp_path / "ca.pem"), str(tmp_path / "server.pem")],
        "valid_days": 2,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["--client", "../alice"],
        ["--client", ""],
        ["--client", "a", "--client", "a"],
        ["--days", "0"],
    ],
)
def test_mistakes_are_refused(arguments: list[str], tmp_path: Path) -> None:
    assert main(["tls", "self-signed", str(tmp_path), *arguments]) == ExitCode.USAGE
    assert list(tmp_path.iterdir()) == []


def test_host_that_cannot_be_in_a_certificate_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tls", "self-signed", str(tmp_path), "--host", "bücher"]) == ExitCode.FAILED
    assert "ASCII" in capsys.readouterr().err


def test_missing_library_is_named_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.delitem(sys.modules, "headrace.security.tls_certificates", raising=False)
    assert main(["tls", "self-signed", str(tmp_path)]) == ExitCode.MISSING_DEPENDENCY
    assert "cryptography; install it with: pip install 'headrace[security]'" in (
        capsys.readouterr().err
    )
    assert list(tmp_path.iterdir()) == []


def test_directory_that_cannot_be_made_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["tls", "self-signed", str(tmp_path / "file")]) == ExitCode.FAILED
    assert "cannot write" in capsys.readouterr().err
