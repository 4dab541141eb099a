"""``headrace doctor``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.cli.checks import Check, Status
from headrace.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("status", "code"), [(Status.WARNING, 0), (Status.FAILED, 1)])
def test_status_tells_whether_something_must_change(
    status: Status,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [Check("disk", status, "little", "tidy up")]
    monkeypatch.setattr("headrace.cli.checks.all_checks", lambda data, bootstrap: found)
    assert main(["doctor", "--data", str(tmp_path), "--json"]) == code
    assert json.loads(capsys.readouterr().out) == [
        {"check": "disk", "status": status.value, "found": "little", "what_to_do": "tidy up"}
    ]
