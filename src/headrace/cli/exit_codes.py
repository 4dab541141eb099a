"""How the process ends, as scripts see it. ``docs/cli.md`` says the same."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit status of every verb."""

    OK = 0
    FAILED = 1
    USAGE = 2
    CANNOT_CONNECT = 3
    NOT_FOUND = 4
    EXISTS = 5
    MISSING_DEPENDENCY = 6
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "refused or failed; standard error says why",
    ExitCode.USAGE: "wrong arguments or settings",
    ExitCode.CANNOT_CONNECT: "no broker answers at the address",
    ExitCode.NOT_FOUND: "no such topic, partition, group or file",
    ExitCode.EXISTS: "it exists already",
    ExitCode.MISSING_DEPENDENCY: "an optional package is not installed",
    ExitCode.INTERRUPTED: "interrupted from the keyboard",
}


class Failure(Exception):
    """Ends a verb: one line for standard error, and an exit status."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
