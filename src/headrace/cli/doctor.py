"""``headrace doctor``: looks at the machine, says what to do. (Typer reads these annotations.)"""

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli import output
from headrace.cli.exit_codes import ExitCode
from headrace.cli.options import DEFAULT_BOOTSTRAP, Bootstrap, Json


def doctor(
    data: Annotated[Path, typer.Option("--data", metavar="DIR", help="The data directory.")] = Path(
        "data"
    ),
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    as_json: Json = False,
) -> int:
    """Check port, directory, disk, file limits, clock and Java; say what to change."""
    from headrace.cli.checks import Status, all_checks

    checks = all_checks(data, bootstrap)
    rows: list[output.Row] = [
        {
            "check": check.name,
            "status": check.status.value,
            "found": check.found,
            "what_to_do": check.advice,
        }
        for check in checks
    ]
    output.print_rows(rows, ("check", "status", "found", "what_to_do"), as_json=as_json)
    has_failed = any(check.status is Status.FAILED for check in checks)
    return int(ExitCode.FAILED if has_failed else ExitCode.OK)
