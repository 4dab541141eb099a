"""``headrace tls``: certificates to try TLS out with. (Typer reads these annotations.)"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli import output
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import Json
from headrace.model.errors import PackageNotInstalled

app = typer.Typer(
    help="Make certificates to try TLS out with.", no_args_is_help=True, rich_markup_mode=None
)

DEFAULT_HOSTS = ("localhost", "127.0.0.1", "::1")
DEFAULT_DAYS = 365
DAYS_MAX = 3_650
CLIENTS_MAX = 100
AUTHORITY_FILE = "ca.pem"
SERVER_FILE = "server.pem"
_KEY_MODE = 0o600
_PUBLIC_MODE = 0o644


@app.callback()
def _tls() -> None:
    """Keeps ``self-signed`` a verb of its own."""


@app.command("self-signed")
def self_signed(
    directory: Annotated[Path, typer.Argument(help="Where to write; made if it does not exist.")],
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--host", metavar="NAME", help="How clients reach the broker; may be repeated."
        ),
    ] = None,
    clients: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="NAME", help="Also make one for this client."),
    ] = None,
    days: Annotated[
        int, typer.Option("--days", help="How long they are valid.", min=1, max=DAYS_MAX)
    ] = DEFAULT_DAYS,
    as_json: Json = False,
) -> None:
    """Make an authority, a certificate for the broker, and some for clients, as PEM files.

    The authority's key is thrown away: nobody can sign more with it. To have another certificate,
    make all of them again. Files that exist are not overwritten.

    \b
    headrace tls self-signed certs
    headrace tls self-signed certs --host broker.lan --host 10.0.0.5 --client alice

    \b
    Then the broker, and a client that checks it:
      headrace serve --listen kafka+ssl://127.0.0.1:9093 \\
        --set ssl.keystore.location=certs/server.pem
      librdkafka:   security.protocol=SSL  ssl.ca.location=certs/ca.pem
      kafka-python: security_protocol="SSL", ssl_cafile="certs/ca.pem"
      Java:         security.protocol=SSL  ssl.truststore.type=PEM
                    ssl.truststore.location=certs/ca.pem

    \b
    With client certificates: --set ssl.client.auth=required
      --set ssl.truststore.location=certs/ca.pem; and for clients
      librdkafka:   ssl.certificate.location, ssl.key.location = certs/client-alice.pem
      kafka-python: ssl_certfile, ssl_keyfile = "certs/client-alice.pem"
      Java:         ssl.keystore.type=PEM  ssl.keystore.location=certs/client-alice.pem
    """
    try:
        from headrace.security.tls_certificates import Authority
    except ModuleNotFoundError as error:
        raise PackageNotInstalled("tls self-signed", "cryptography", "security") from error

    names = clients or []
    _raise_if_unusable(names)
    authority = Authority("Headrace self-signed", datetime.now(UTC), days)
    server = authority.server(hosts or list(DEFAULT_HOSTS))
    contents = {
        AUTHORITY_FILE: authority.key_pair.certificate,
        SERVER_FILE: server.key + server.certificate,
    }
    for name in names:
        pair = authority.client(name)
        contents[client_file(name)] = pair.key + pair.certificate
    _write_all(directory, contents)
    written = [str(directory / name) for name in contents]
    if as_json:
        output.print_json({"files": written, "valid_days": days})
        return
    for path in written:
        print(path)
    print(
        f"valid for {days} days. Next:\n"
        "  headrace serve --listen kafka+ssl://127.0.0.1:9093"
        f" --set ssl.keystore.location={directory / SERVER_FILE}\n"
        f"and in clients: security.protocol=SSL, ssl.ca.location={directory / AUTHORITY_FILE}"
    )


def client_file(name: str) -> str:
    """The file of a client's certificate and key."""
    return f"client-{name}.pem"


def _raise_if_unusable(names: list[str]) -> None:
    if len(names) > CLIENTS_MAX or len(set(names)) < len(names):
        raise Failure(f"--client: {CLIENTS_MAX} names at most, each once", ExitCode.USAGE)
    for name in names:
        if not name or "/" in name or "\0" in name:
            raise Failure(f"--client {name!r}: it is to be part of a file name", ExitCode.USAGE)


def _write_all(directory: Path, contents: dict[str, bytes]) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name in contents:
            if (directory / name).exists():
                raise Failure(
                    f"{directory / name} exists: choose another directory, or remove it first",
                    ExitCode.EXISTS,
                )
        for name, content in contents.items():
            _write(directory / name, content, _PUBLIC_MODE if name == AUTHORITY_FILE else _KEY_MODE)
    except OSError as error:
        raise Failure(f"cannot write to {directory}: {error.strerror}") from error


def _write(path: Path, content: bytes, mode: int) -> None:
    """A key must never be readable by others, not for a moment: the mode comes with the file."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
