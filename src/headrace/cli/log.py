"""``headrace log``: dump and verify files of a log, ours or Kafka's; no broker is needed.

(Typer reads these annotations, so they are not postponed.)
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headrace.cli import output
from headrace.cli.exit_codes import ExitCode, Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

app = typer.Typer(
    help="Look into the files of a log; needs no broker.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Target = Annotated[
    Path, typer.Argument(metavar="FILE|DIR", help="A file of a log, a partition, or all data.")
]
DEPTH_MAX = 2
"""A data directory holds partitions, and those hold files."""


@app.command("dump")
def dump(
    path: Target,
    records: Annotated[
        bool, typer.Option("--records", "-r", help="Show each record of each batch.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line.")
    ] = False,
) -> int:
    """Show what is in a file: batches, index entries, producers, offsets.

    \b
    headrace log dump data/orders-0/00000000000000000000.log --records
    headrace log dump data/orders-0 --json
    """
    from headrace.cli.log_values import json_fields, text_lines
    from headrace.environment.real import RealDisk
    from headrace.storage.inspect import Unreadable
    from headrace.storage.inspect import dump as dump_file

    has_damage = False
    for file in _known_files(path):
        if not as_json:
            print(f"{file}:")
        for value in dump_file(RealDisk(), str(file), with_records=records):
            has_damage = has_damage or (isinstance(value, Unreadable) and not value.is_tail)
            if as_json:
                print(json.dumps({"file": str(file), **json_fields(value)}, ensure_ascii=False))
            else:
                print("\n".join(text_lines(value)))
    return int(ExitCode.FAILED if has_damage else ExitCode.OK)


@app.command("verify")
def verify(
    path: Target,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> int:
    """Read everything, compare indexes with logs; status 1 if something is wrong.

    \b
    headrace log verify data
    """
    from headrace.environment.real import RealDisk
    from headrace.storage.inspect_verify import verify as verify_path

    _raise_if_absent(path)
    rows: list[output.Row] = [
        {
            "file": finding.path,
            "position": None if finding.position < 0 else finding.position,
            "finding": finding.kind.value,
            "message": finding.message,
        }
        for finding in verify_path(RealDisk(), str(path))
    ]
    if as_json:
        output.print_json({"path": str(path), "findings": rows})
    elif rows:
        output.print_rows(rows, ("file", "position", "finding", "message"), as_json=False)
    else:
        print(f"nothing is wrong with {path}")
    return int(ExitCode.FAILED if rows else ExitCode.OK)


def _known_files(path: Path) -> "Iterator[Path]":
    from headrace.storage.inspect import kind_of

    _raise_if_absent(path)
    if path.is_file():
        yield path
        return
    for file in sorted(_walk(path, DEPTH_MAX)):
        if kind_of(str(file)) is not None:
            yield file


def _walk(directory: Path, depth: int) -> "Iterator[Path]":
    for child in directory.iterdir():
        if child.is_file():
            yield child
        elif depth > 1 and child.is_dir():
            yield from _walk(child, depth - 1)


def _raise_if_absent(path: Path) -> None:
    if not path.exists():
        raise Failure(f"there is no file or directory {path}", ExitCode.NOT_FOUND)
