"""The processors as processes: started, killed, frozen, and replaced when one has ended.

A killed processor comes back under its transactional id, which ends what it left open at once. Now
and then it comes back under another id: then only the coordinator's time-out can end it.
"""

from __future__ import annotations

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from soak.clients import ClientStuck
from soak.transactions.task import ABORTED_LINE, BEGUN_AGAIN_STATUS, COMMITTED_LINE, Task

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

    from headrace.testing.history_transactions import PipelineHistory

NEW_ID_SHARE = 0.25
BUSY_SHARE = 0.7
"""Of the victims: the one that committed last, who is most likely in its next transaction."""
ENDED_BY_THEMSELVES_MAX = 1_000
ERROR_CHARACTERS_MAX = 2_000
ROOT = Path(__file__).parents[2]


@dataclass
class Member:
    """One place in the crew and the process that fills it now."""

    place: int
    transactional_id: str
    process: subprocess.Popen[bytes]
    name: str


class Crew:
    """``command`` makes the command line of a processor from its task."""

    def __init__(
        self,
        command: Callable[[Task], list[str]],
        bootstrap_servers: str,
        directory: Path,
        chance: random.Random,
        size: int,
    ) -> None:
        self._command = command
        self._bootstrap_servers = bootstrap_servers
        self._directory = directory
        self._chance = chance
        self._size = size
        self._members: list[Member] = []
        self._lives = 0
        self.kills = 0
        self.kills_with_new_id = 0
        self.freezes = 0
        self.ended_by_themselves = 0

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        for place in range(self._size):
            self._members.append(self._spawn(place, f"processor-{place}"))

    def kill_one(self) -> None:
        """kill -9 of one of them, and a new process in its place."""
        member = self._victim()
        member.process.kill()
        member.process.wait()
        self.kills += 1
        transactional_id = member.transactional_id
        if self._chance.random() < NEW_ID_SHARE:
            transactional_id = f"processor-{member.place}-{self._lives}"
            self.kills_with_new_id += 1
        self._replace(member, transactional_id)

    def freeze_one(self) -> Callable[[], None]:
        """One of them stops for a while, as in a long pause of a collector; call to go on."""
        process = self._victim().process
        self.freezes += 1
        process.send_signal(signal.SIGSTOP)
        return lambda: process.send_signal(signal.SIGCONT)

    def tend(self) -> None:
        """Replace those that ended by themselves; ClientStuck if one ended as it should not."""
        for member in list(self._members):
            status = member.process.poll()
            if status is None:
                continue
            self.ended_by_themselves += 1
            if status != BEGUN_AGAIN_STATUS or self.ended_by_themselves > ENDED_BY_THEMSELVES_MAX:
                raise ClientStuck(f"{member.name} ended with {status}: {self._errors(member)}")
            self._replace(member, member.transactional_id)

    def stop(self) -> None:
        for member in self._members:
            member.process.kill()
            member.process.wait()

    def tell(self, history: PipelineHistory) -> None:
        """What the brokers told the processors, from all their lives."""
        for path in sorted(self._directory.glob("*.out")):
            for what, transaction in _whole_lines(path):
                if what == COMMITTED_LINE:
                    history.acknowledged(transaction)
                elif what == ABORTED_LINE:
                    history.aborted(transaction)

    def _victim(self) -> Member:
        if self._chance.random() < BUSY_SHARE:
            return max(self._members, key=lambda member: self._output(member.name).stat().st_mtime)
        return self._chance.choice(self._members)

    def _output(self, name: str) -> Path:
        return self._directory / f"{name}.out"

    def _replace(self, member: Member, transactional_id: str) -> None:
        self._members[member.place] = self._spawn(member.place, transactional_id)

    def _spawn(self, place: int, transactional_id: str) -> Member:
        name = f"{place}.{self._lives}"
        self._lives += 1
        seed = self._chance.randrange(2**31)
        task = Task(self._bootstrap_servers, transactional_id, name, seed)
        with (
            self._output(name).open("wb") as output,
            (self._directory / f"{name}.err").open("wb") as errors,
        ):
            process = subprocess.Popen(self._command(task), cwd=ROOT, stdout=output, stderr=errors)
        return Member(place, transactional_id, process, name)

    def _errors(self, member: Member) -> str:
        text = (self._directory / f"{member.name}.err").read_text("utf-8", "replace")
        return text[-ERROR_CHARACTERS_MAX:]


def _whole_lines(path: Path) -> Iterator[tuple[str, str]]:
    """A kill may cut the last line."""
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            what, _, transaction = line.rstrip("\n").partition(" ")
            yield what, transaction
