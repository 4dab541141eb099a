"""``headrace user``: add, list and delete users that log in by SCRAM. (Typer reads these
annotations.)

The password is salted here; neither it nor anything to log in with reaches the broker's disk.
"""

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli import output
from headrace.cli.client import Broker, admin_library, reach
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Json,
    Timeout,
)
from headrace.security.scram_credential import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism

app = typer.Typer(
    help="Add, list and delete users that log in with SCRAM.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DEFAULT_ITERATIONS = 8_192
PASSWORD_BYTES_MAX = 4_096
STANDARD_INPUT = "-"


class Mechanism(Enum):
    """By the names that clients give to ``sasl.mechanism``."""

    sha_256 = "SCRAM-SHA-256"
    sha_512 = "SCRAM-SHA-512"


NUMBERS = {Mechanism(each.sasl_name): int(each) for each in ScramMechanism}

Name = Annotated[str, typer.Argument(help="The user.")]
Mechanisms = Annotated[
    list[Mechanism], typer.Option("--mechanism", "-m", help="May be repeated. [default: both]")
]


@app.command("add")
def add(
    name: Name,
    mechanism: Mechanisms = [],  # noqa: B006 - typer copies it
    iterations: Annotated[
        int,
        typer.Option(
            "--iterations",
            min=ITERATIONS_MIN,
            max=ITERATIONS_MAX,
            help="How much work it is to guess a password, and to log in.",
        ),
    ] = DEFAULT_ITERATIONS,
    password_file: Annotated[
        str | None,
        typer.Option("--password-file", help="Its first line is the password; - reads the input."),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Add a user, or give one another password. Asks for the password, on a terminal.

    \b
    headrace user add alice
    headrace user add billing --password-file /run/secrets/billing --mechanism SCRAM-SHA-512
    """
    password = _password(password_file)
    broker, admin = reach(bootstrap, client, timeout)
    library = admin_library()
    chosen = mechanism or list(Mechanism)
    for each in chosen:
        info = library.ScramCredentialInfo(library.ScramMechanism(NUMBERS[each]), iterations)
        _alter(broker, admin, library.UserScramCredentialUpsertion(name, info, password))
    names = [each.value for each in chosen]
    if as_json:
        output.print_json({"user": name, "mechanisms": names})
    else:
        print(f"set the password of {name} for {', '.join(names)}")


@app.command("list")
def list_users(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """List users with their mechanisms."""
    broker, admin = reach(bootstrap, client, timeout)
    rows: list[output.Row] = [
        {"user": user, "mechanism": _mechanism_name(info), "iterations": info.iterations}
        for user, described in sorted(_described(broker, admin).items())
        for info in described.scram_credential_infos
    ]
    output.print_rows(rows, ("user", "mechanism", "iterations"), as_json=as_json)


@app.command("delete")
def delete(
    name: Name,
    mechanism: Mechanisms = [],  # noqa: B006
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Take all credentials of a user away, or those of one mechanism. Asks first, on a terminal.

    \b
    headrace user delete alice
    headrace user delete alice --mechanism SCRAM-SHA-256 --yes
    """
    broker, admin = reach(bootstrap, client, timeout)
    found = _described(broker, admin).get(name)
    has = {_mechanism_name(each) for each in found.scram_credential_infos} if found else set()
    chosen = [each for each in mechanism or list(Mechanism) if mechanism or each.value in has]
    if not has or not {each.value for each in chosen} <= has:
        raise Failure(
            f"user {name} has no such credential; see: headrace user list", ExitCode.NOT_FOUND
        )
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete the credentials of {name}?", abort=True, err=True)
    library = admin_library()
    for each in chosen:
        mechanism_number = library.ScramMechanism(NUMBERS[each])
        _alter(broker, admin, library.UserScramCredentialDeletion(name, mechanism_number))
    names = [each.value for each in chosen]
    if as_json:
        output.print_json({"user": name, "deleted": names})
    else:
        print(f"deleted {', '.join(names)} of {name}")


def _password(file: str | None) -> bytes:
    if file is None:
        if not sys.stdin.isatty():
            raise Failure("pass --password-file FILE, or - for the input", ExitCode.USAGE)
        text: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return text.encode()
    password = _first_line(file)
    if not 0 < len(password) <= PASSWORD_BYTES_MAX:
        raise Failure(f"a password has 1 to {PASSWORD_BYTES_MAX} bytes", ExitCode.USAGE)
    return password


def _first_line(file: str) -> bytes:
    limit = PASSWORD_BYTES_MAX + 2
    if file == STANDARD_INPUT:
        line = sys.stdin.buffer.readline(limit)
    else:
        try:
            with Path(file).open("rb") as opened:
                line = opened.readline(limit)
        except OSError as error:
            message = f"cannot read {file}: {error.strerror}"
            raise Failure(message, ExitCode.NOT_FOUND) from error
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _alter(broker: Broker, admin: Any, change: Any) -> None:
    """One change per request: Kafka refuses two of the same user."""
    future = admin.alter_user_scram_credentials([change])[change.user]
    broker.result(future, f"user {change.user}")


def _described(broker: Broker, admin: Any) -> dict[str, Any]:
    described: dict[str, Any] = broker.result(admin.describe_user_scram_credentials(), "users")
    return described


def _mechanism_name(info: Any) -> str:
    return str(info.mechanism.name.replace("_", "-"))
