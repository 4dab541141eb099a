"""`headrace serve` as a person types it: run to its end, with its status and all it printed."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RUN_SECONDS_MAX = 20
FREE_PORT = "kafka://127.0.0.1:0"
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1


def serve(
    *options: str | Path, before_start: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a start that is expected to fail by itself."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("HEADRACE_")}
    return subprocess.run(
        [sys.executable, "-m", "headrace", "serve", *map(str, options)],
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
        env=environment,
        preexec_fn=before_start,
    )


def obey_permissions() -> None:
    """For root, whom no permission binds: give up the right to override them, for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot give up CAP_DAC_OVERRIDE")


def complaint(finished: subprocess.CompletedProcess[str]) -> str:
    """The one line on standard error that a failed start must end with; beside it there may be
    what the log says of the start, but no warning and no traceback."""
    assert finished.returncode != 0
    assert finished.stdout == ""
    assert "Traceback" not in finished.stderr
    lines = [line for line in finished.stderr.splitlines() if " INFO headrace." not in line]
    assert len(lines) == 1, finished.stderr
    assert lines[0].startswith("headrace: ")
    return lines[0].removeprefix("headrace: ")
