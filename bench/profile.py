"""A flame graph of the broker while it does one steady work, by py-spy, as SVG."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench.peers import HEADRACE, PeerFactory
from bench.warm_up import warm_up

if TYPE_CHECKING:
    from bench.protocols import SteadyWork

SAMPLES_PER_SECOND = 400
SECONDS_MAX = 600
WARM_UP_SECONDS = 5.0


class ProfilerFailed(RuntimeError):
    """py-spy is not here, or may not look into the process."""


def write_flame_graph(
    work: SteadyWork, scale: float, work_directory: Path, target: Path
) -> dict[str, float]:
    """Run the work on a warm broker under the profiler; the figures are those of that run."""
    program = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which(
        "py-spy"
    )
    if program is None:
        raise ProfilerFailed("py-spy is not installed: pip install py-spy")
    target.parent.mkdir(parents=True, exist_ok=True)
    with PeerFactory(HEADRACE, work_directory).started() as peer:
        warm_up(peer, WARM_UP_SECONDS)
        profiler = subprocess.Popen(
            [
                *(program, "record", "--pid", str(peer.pid), "--output", str(target)),
                *("--rate", str(SAMPLES_PER_SECOND), "--duration", str(SECONDS_MAX)),
                *("--nonblocking", "--threads"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            assert profiler.stdout is not None
            first = profiler.stdout.readline()
            values = work.run(peer, scale)
            profiler.send_signal(signal.SIGINT)
            rest, _ = profiler.communicate(timeout=SECONDS_MAX)
        finally:
            profiler.kill()
            profiler.wait()
    if not target.exists():
        raise ProfilerFailed(f"py-spy wrote nothing: {first}{rest}")
    return values
