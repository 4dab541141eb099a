"""The tour of README.md works when pasted: its blocks are taken out of the page and run in order.

Three things differ from what a reader does: the broker has a port of its own and does not wait for
further members of a new group, and the programs are those of the running environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from .broker_process import BrokerProcess

pytestmark = pytest.mark.interop

ROOT = Path(__file__).parents[2]
TOUR = re.compile(r"^## A tour in five minutes$(.*?)^## ", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(bash|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "127.0.0.1:9092"
BLOCK_TIMEOUT_S = 60.0
OPTIONS = ("--set", "group.initial.rebalance.delay.ms=0")

EXPECTED = (
    r"created topic orders\nsent 3 records; last at orders-\d@\d",
    r"(?s)(?=.*alice\ttea)(?=.*erin\tcoffee)(?=.*alice\tcake)",
    r"(?s)sent 2 records.*\ngroup +billing\n.*\nTOPIC .* LAG .*\norders +2 +2 +4 +2 +-",
    r"b'world' b'hello' at offset 0",
    r"1 passed",
    r'(?s)PARTITION .*END OFFSET.*"key": "alice", "value": "juice".*key=.alice. value=.cake.',
)
"""What each block must print, in the order of the blocks."""


class Block(NamedTuple):
    """One fenced block of the tour."""

    language: str
    text: str


def tour_blocks() -> list[Block]:
    tour = TOUR.search((ROOT / "README.md").read_text("utf-8"))
    assert tour is not None, "README.md has no tour"
    return [Block(*found) for found in BLOCK.findall(tour[1])]


def paste(block: Block, bootstrap_servers: str, directory: Path) -> str:
    """Run a block as if it were typed; what it printed."""
    programs = Path(sys.executable).parent
    text = block.text.replace(".venv/bin/", f"{programs}/").replace(ADDRESS, bootstrap_servers)
    # `python -i` on a pipe reads like the prompt does: what cannot be pasted fails here, too.
    interpreters = {"bash": ["bash", "-e"], "python": [sys.executable, "-i", "-q"]}
    result = subprocess.run(
        interpreters[block.language],
        input=text,
        cwd=directory,
        env={**os.environ, "HEADRACE_BOOTSTRAP": bootstrap_servers},
        capture_output=True,
        text=True,
        timeout=BLOCK_TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Error" not in result.stderr, result.stderr
    return result.stdout


def test_every_block_of_the_tour_has_an_expectation() -> None:
    blocks = tour_blocks()
    assert len(blocks) == len(EXPECTED)
    assert {block.language for block in blocks} == {"bash", "python"}


def test_tour_works_when_pasted(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data", OPTIONS) as broker:
        for block, expected in zip(tour_blocks(), EXPECTED, strict=True):
            printed = paste(block, broker.bootstrap_servers, tmp_path)
            assert re.search(expected, printed), f"{block.text}\nprinted\n{printed}"
        assert broker.terminate() == 0
