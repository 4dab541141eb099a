"""The corpus: one folder per target, with real encodings and every input that ever failed.

Names say what a file is: seeds are called ``seed-...``, inputs that failed ``found-...``.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.target import Target

CORPUS = Path(__file__).parent / "corpus"
FILES_MAX = 300
BYTES_MAX = 1_000_000
SEED_BYTES_MAX = 16 * 1024


def inputs(name: str) -> dict[str, bytes]:
    """The kept inputs of a target, by file name."""
    folder = CORPUS / name
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*")) if path.is_file()}


def write_seeds(target: Target) -> int:
    """Write the target's own seeds anew; what was found stays. How many there are."""
    folder = CORPUS / target.name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("seed-*"):
        old.unlink()
    seeds = {n: data for n, data in target.seeds().items() if len(data) <= SEED_BYTES_MAX}
    for name, data in seeds.items():
        (folder / f"seed-{name}").write_bytes(data)
    return len(seeds)


def keep(folder: Path, data: bytes) -> Path:
    """Write an input that failed; its name is that of its content."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"found-{hashlib.sha256(data).hexdigest()[:16]}"
    path.write_bytes(data)
    return path
