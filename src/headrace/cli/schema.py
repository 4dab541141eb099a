"""``headrace schema``: list, show, register, check, delete. (Typer reads these annotations.)"""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace.cli import output
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import DEFAULT_TIMEOUT_SECONDS, Json, Timeout
from headrace.cli.registry_client import RegistryClient, subject_path, version_path

app = typer.Typer(
    help="Look at schemas, register, check and delete them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DEFAULT_REGISTRY = "http://127.0.0.1:8080"
KINDS = ("avro", "json", "protobuf")
KIND_OF_SUFFIX = {".avsc": "avro", ".json": "json", ".proto": "protobuf"}
COLUMNS = ("subject", "version", "id", "type")
LATEST = "latest"

Registry = Annotated[
    str,
    typer.Option(
        "--registry",
        metavar="URL",
        envvar="HEADRACE_REGISTRY",
        show_envvar=True,
        help="The schema registry: Headrace's or Confluent's.",
    ),
]
Subject = Annotated[str, typer.Argument(help="The subject, such as orders-value.")]
File = Annotated[str, typer.Argument(help="A file with the schema; - reads standard input.")]
Kind = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="|".join(KINDS),
        help="Kind of schema [default: by the file: .avsc, .json, .proto].",
    ),
]
References = Annotated[
    list[str],
    typer.Option(
        "--reference",
        metavar="NAME=SUBJECT:VERSION",
        help="A schema that this one names; may be repeated.",
    ),
]
Normalize = Annotated[
    bool, typer.Option("--normalize", help="Leave out differences that mean nothing.")
]


@app.command("list")
def list_schemas(
    subject: Annotated[
        str | None, typer.Argument(help="Show all versions of this subject.")
    ] = None,
    prefix: Annotated[
        str, typer.Option("--prefix", help="Only subjects that begin like this.")
    ] = "",
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Show those that were deleted, too.")
    ] = False,
    registry: Registry = DEFAULT_REGISTRY,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """List subjects with their newest version, or all versions of one subject.

    \b
    headrace schema list
    headrace schema list orders-value --deleted
    headrace schema list --prefix orders --json
    """
    client = RegistryClient(registry, timeout)
    found = client.schemas(
        subjectPrefix=subject or prefix or None, deleted=deleted, latestOnly=subject is None
    )
    rows = [_row(view) for view in found if subject in (None, view["subject"])]
    if subject is not None and not rows:
        raise Failure(
            f"there is no subject {subject}; see: headrace schema list", ExitCode.NOT_FOUND
        )
    columns = (*COLUMNS, "deleted") if deleted else COLUMNS
    output.print_rows(rows, columns, as_json=as_json)


@app.command("show")
def show(
    subject: Subject,
    version: Annotated[str, typer.Option("--version", help="Which version.")] = LATEST,
    registry: Registry = DEFAULT_REGISTRY,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Print a schema as it is registered.

    \b
    headrace schema show orders-value
    headrace schema show orders-value --version 1 --json
    """
    client = RegistryClient(registry, timeout)
    view = client.call("GET", version_path(subject, version))
    if as_json:
        output.print_json(view)
    else:
        print(view["schema"])


@app.command("register")
def register(
    subject: Subject,
    file: File,
    kind: Kind = None,
    reference: References = [],  # noqa: B006 - typer copies it
    normalize: Normalize = False,
    registry: Registry = DEFAULT_REGISTRY,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Register a schema as the newest version; if it is there already, nothing changes.

    \b
    headrace schema register orders-value order.avsc
    headrace schema register lines-value line.avsc --reference Order=orders-value:1
    cat order.proto | headrace schema register orders-value - --type protobuf
    """
    body = _schema_body(file, kind, reference)
    client = RegistryClient(registry, timeout)
    path = subject_path(subject)
    given = client.call("POST", f"{path}/versions", body, normalize=normalize)
    view = client.call("POST", path, body, normalize=normalize)
    result: output.Row = {"subject": subject, "version": view["version"], "id": given["id"]}
    _say(result, f"{subject} version {view['version']} has id {given['id']}", as_json=as_json)


@app.command("check")
def check(
    subject: Subject,
    file: File,
    kind: Kind = None,
    reference: References = [],  # noqa: B006
    version: Annotated[
        str | None, typer.Option("--version", help="Against this version [default: as registering]")
    ] = None,
    normalize: Normalize = False,
    registry: Registry = DEFAULT_REGISTRY,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> int:
    """Say whether a schema may be registered after those that are there; status 1 if not.

    \b
    headrace schema check orders-value order.avsc
    headrace schema check orders-value order.avsc --version 1 --json
    """
    body = _schema_body(file, kind, reference)
    client = RegistryClient(registry, timeout)
    path = f"/compatibility{version_path(subject, version)}"
    answer = client.call("POST", path, body, verbose=True, normalize=normalize)
    problems = answer.get("messages", [])
    result: output.Row = {
        "subject": subject,
        "compatible": answer["is_compatible"],
        "problems": problems,
    }
    sentence = "compatible" if answer["is_compatible"] else "not compatible"
    _say(result, "\n".join([f"{subject}: {sentence}", *problems]), as_json=as_json)
    return int(ExitCode.OK if answer["is_compatible"] else ExitCode.FAILED)


@app.command("delete")
def delete(
    subject: Subject,
    version: Annotated[
        str | None, typer.Option("--version", help="Only this version [default: all]")
    ] = None,
    permanent: Annotated[
        bool, typer.Option("--permanent", help="For good: data with its id becomes unreadable.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    registry: Registry = DEFAULT_REGISTRY,
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Delete a subject, or one version. Asks first, on a terminal.

    Its ids stay readable unless --permanent.

    \b
    headrace schema delete orders-value --version 1
    headrace schema delete orders-value --permanent --yes
    """
    what = subject if version is None else f"version {version} of {subject}"
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete {what}?", abort=True, err=True)
    client = RegistryClient(registry, timeout)
    if version is None:
        versions = _delete(client, subject_path(subject), permanent=permanent)
    else:
        versions = [_delete_version(client, subject, version, permanent=permanent)]
    result: output.Row = {"subject": subject, "versions": versions, "permanent": permanent}
    _say(result, f"deleted {what}", as_json=as_json)


def _delete_version(client: RegistryClient, subject: str, version: str, *, permanent: bool) -> Any:
    if permanent and version in (LATEST, "-1"):
        # Deleted at first, it would be the latest no more.
        version = client.call("GET", version_path(subject, version))["version"]
    return _delete(client, version_path(subject, version), permanent=permanent)


def _delete(client: RegistryClient, path: str, *, permanent: bool) -> Any:
    """For good goes only what was deleted before: so that is done first, where it was not."""
    if not permanent:
        return client.call("DELETE", path)
    try:
        client.call("DELETE", path)
    except Failure as failure:
        if failure.code is not ExitCode.NOT_FOUND:
            raise
    return client.call("DELETE", path, permanent=True)


def _schema_body(file: str, kind: str | None, references: list[str]) -> dict[str, Any]:
    chosen = kind or KIND_OF_SUFFIX.get(Path(file).suffix)
    if chosen not in KINDS:
        raise Failure(f"{file}: say its kind with --type {'|'.join(KINDS)}", ExitCode.USAGE)
    body: dict[str, Any] = {"schema": _read(file), "schemaType": chosen.upper()}
    if references:
        body["references"] = [_reference(text) for text in references]
    return body


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except FileNotFoundError as error:
        raise Failure(f"there is no file {file}", ExitCode.NOT_FOUND) from error
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} cannot be read: {error}", ExitCode.USAGE) from error


def _reference(text: str) -> dict[str, Any]:
    name, _, place = text.partition("=")
    subject, _, version = place.rpartition(":")
    if not (name and subject and version.isdecimal()):
        raise Failure(f"--reference {text}: expected NAME=SUBJECT:VERSION", ExitCode.USAGE)
    return {"name": name, "subject": subject, "version": int(version)}


def _row(view: dict[str, Any]) -> output.Row:
    return {
        "subject": view["subject"],
        "version": view["version"],
        "id": view["id"],
        "type": str(view.get("schemaType") or "AVRO").lower(),
        "deleted": bool(view.get("deleted")),
    }


def _say(result: output.Row, sentence: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(result)
    else:
        print(sentence)
