"""``headrace config``: get, set, unset, explain. (Typer reads these annotations.)"""

from typing import Annotated, Any

import typer

from headrace.cli import output
from headrace.cli.assignments import parse_assignments
from headrace.cli.client import connect
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Json,
    Timeout,
)
from headrace.cli.resources import SOURCES, alter_resource, read_resource

app = typer.Typer(
    help="Read, change and explain settings.", no_args_is_help=True, rich_markup_mode=None
)

Topic = Annotated[str | None, typer.Option("--topic", "-t", help="Of this topic.")]
BrokerId = Annotated[int | None, typer.Option("--broker", help="Of the broker with this number.")]


@app.command("get")
def get(
    names: Annotated[list[str] | None, typer.Argument(help="Only these settings.")] = None,
    topic: Topic = None,
    broker_id: BrokerId = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only what is not a default.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Show settings with their sources.

    \b
    headrace config get --topic orders
    headrace config get --topic orders retention.ms
    headrace config get --broker 1 --changed
    """
    kind, resource = _resource(topic, broker_id)
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    entries = read_resource(broker, admin, kind, resource)
    _raise_if_absent(names or [], entries)
    rows = [
        _row(entry)
        for name, entry in sorted(entries.items())
        if (not names or name in names) and not (changed and SOURCES[entry.source] == "default")
    ]
    output.print_rows(rows, ("name", "value", "source"), as_json=as_json)


@app.command("set")
def set_(
    settings: Annotated[list[str], typer.Argument(metavar="NAME=VALUE...")],
    topic: Topic = None,
    broker_id: BrokerId = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Change settings without a restart.

    \b
    headrace config set --topic orders retention.ms=3600000
    headrace config set --broker 1 log.retention.ms=86400000
    """
    kind, resource = _resource(topic, broker_id)
    wanted = parse_assignments(settings, "")
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    alter_resource(broker, admin, kind, resource, wanted, [])
    _say({"set": wanted}, f"set {', '.join(wanted)}", as_json=as_json)


@app.command("unset")
def unset(
    names: Annotated[list[str], typer.Argument(help="The settings.")],
    topic: Topic = None,
    broker_id: BrokerId = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Let settings go back to their defaults."""
    kind, resource = _resource(topic, broker_id)
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    alter_resource(broker, admin, kind, resource, {}, names)
    _say({"unset": names}, f"unset {', '.join(names)}", as_json=as_json)


@app.command("explain")
def explain(
    name: Annotated[str | None, typer.Argument(help="The option; without it, all names.")] = None,
    as_json: Json = False,
) -> None:
    """Say what an option means, what it accepts, and how to set it. Needs no broker.

    \b
    headrace config explain retention.ms
    """
    from headrace.cli.explanation import explanations, summaries

    if name is None:
        output.print_rows(summaries(), ("name", "scope", "default", "help"), as_json=as_json)
        return
    found = explanations(name)
    if as_json:
        output.print_json(found)
        return
    for index, explanation in enumerate(found):
        if index:
            print()
        output.print_pairs(explanation, as_json=False)


def _resource(topic: str | None, broker_id: int | None) -> tuple[str, str]:
    if topic is not None and broker_id is None:
        return "topic", topic
    if broker_id is not None and topic is None:
        return "broker", str(broker_id)
    raise Failure("pass --topic NAME or --broker ID", ExitCode.USAGE)


def _raise_if_absent(names: list[str], entries: dict[str, Any]) -> None:
    for name in names:
        if name not in entries:
            raise Failure(
                f"there is no setting {name!r} here; see: headrace config explain",
                ExitCode.NOT_FOUND,
            )


def _row(entry: Any) -> output.Row:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": SOURCES.get(entry.source, "unknown"),
        "read_only": entry.is_read_only,
        "sensitive": entry.is_sensitive,
        "synonyms": [
            {"name": each.name, "value": each.value, "source": SOURCES.get(each.source)}
            for each in entry.synonyms.values()
        ],
    }


def _say(result: output.Row, sentence: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(result)
    else:
        print(sentence)
