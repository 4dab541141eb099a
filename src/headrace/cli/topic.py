"""``headrace topic``: create, list, describe, alter, delete. (Typer reads these annotations.)"""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import output
from headrace.cli.assignments import parse_assignments
from headrace.cli.client import Broker, admin_library, connect
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Json,
    Timeout,
)
from headrace.cli.resources import alter_resource, set_by_hand
from headrace.cli.table_options import table_changes

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

app = typer.Typer(
    help="Create, look at, change and delete topics.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(help="The topic.")]
Settings = Annotated[
    list[str], typer.Option("--config", "-c", metavar="NAME=VALUE", help="A topic setting.")
]
BROKERS_CHOICE = -1


@app.command("create")
def create(
    name: Name,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="[default: the broker's]")
    ] = None,
    replicas: Annotated[
        int | None, typer.Option("--replicas", min=1, help="[default: the broker's]")
    ] = None,
    config: Settings = [],  # noqa: B006 - typer copies it
    if_absent: Annotated[
        bool, typer.Option("--if-absent", help="Do nothing if the topic exists.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Create a topic.

    \b
    headrace topic create orders --partitions 4
    headrace topic create prices -c cleanup.policy=compact -c durability=fsync
    """
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    settings = parse_assignments(config, "--config")
    wanted = admin_library().NewTopic(
        name, partitions or BROKERS_CHOICE, replicas or BROKERS_CHOICE, config=settings
    )
    created = True
    try:
        broker.result(admin.create_topics([wanted])[name], f"topic {name}")
    except Failure as failure:
        if failure.code is not ExitCode.EXISTS or not if_absent:
            raise
        created = False
    _say({"topic": name, "created": created}, f"created topic {name}", as_json=as_json)


@app.command("list")
def list_topics(
    internal: Annotated[
        bool, typer.Option("--internal", help="Show the broker's own topics as well.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """List topics."""
    broker = connect(bootstrap, client, timeout)
    topics = broker.metadata(broker.admin()).topics
    rows: list[output.Row] = [
        {"topic": name, "partitions": len(found.partitions)}
        for name, found in sorted(topics.items())
        if internal or not name.startswith("__")
    ]
    output.print_rows(rows, ("topic", "partitions"), as_json=as_json)


@app.command("describe")
def describe(
    name: Name,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Show a topic's partitions, offsets and settings."""
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    found = broker.metadata(admin, name).topics[name]
    first, end = offset_ranges(broker, admin, name, list(found.partitions))
    rows: list[output.Row] = [
        {
            "partition": index,
            "leader": partition.leader,
            "replicas": partition.replicas,
            "in_sync": partition.isrs,
            "first_offset": first[index],
            "end_offset": end[index],
            "records": end[index] - first[index],
        }
        for index, partition in sorted(found.partitions.items())
    ]
    settings = set_by_hand(broker, admin, "topic", name)
    if as_json:
        output.print_json({"topic": name, "settings": settings, "partitions": rows})
        return
    columns = ("partition", "leader", "replicas", "in_sync", "first_offset", "end_offset")
    output.print_rows(rows, (*columns, "records"), as_json=False)
    for setting, value in settings.items():
        print(f"{setting}={value}")


@app.command("alter")
def alter(
    name: Name,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="More partitions.")
    ] = None,
    config: Settings = [],  # noqa: B006
    unset: Annotated[
        list[str], typer.Option("--unset", metavar="NAME", help="Back to the default.")
    ] = [],  # noqa: B006
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="plain|delta|iceberg|none",
            help="Keep the topic as a table as well; none ends that, and leaves the table.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="PATH", help="Where the table is.")
    ] = None,
    schema: Annotated[
        str | None, typer.Option("--schema", help="What the values are: raw, json, registry, ...")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Give a topic more partitions, or other settings, or keep it as a table too.

    \b
    headrace topic alter orders --partitions 8
    headrace topic alter orders -c retention.ms=3600000 --unset segment.ms
    headrace topic alter orders --table delta --to /lake/orders --schema json
    headrace topic alter orders --table none
    """
    table_settings, table_unset = table_changes(table, to, schema)
    settings = parse_assignments(config, "--config") | table_settings
    unset = [*unset, *table_unset]
    if partitions is None and not settings and not unset:
        raise Failure(
            "nothing to change: pass --partitions, --config, --unset or --table", ExitCode.USAGE
        )
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin, name)
    if settings or unset:
        alter_resource(broker, admin, "topic", name, settings, unset)
    if partitions is not None:
        wanted = admin_library().NewPartitions(name, partitions)
        broker.result(admin.create_partitions([wanted])[name], f"topic {name}")
    _say({"topic": name, "altered": True}, f"altered topic {name}", as_json=as_json)


@app.command("delete")
def delete(
    names: Annotated[list[str], typer.Argument(help="The topics.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Delete topics and all of their records. Asks first, on a terminal."""
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete {', '.join(names)} and all records?", abort=True, err=True)
    futures = admin.delete_topics(names)
    for name in names:
        broker.result(futures[name], f"topic {name}")
    _say({"deleted": names}, f"deleted {', '.join(names)}", as_json=as_json)


def offset_ranges(
    broker: Broker, admin: "AdminClient", topic: str, partitions: list[int]
) -> tuple[dict[int, int], dict[int, int]]:
    """First and end offsets of partitions."""
    from confluent_kafka import TopicPartition

    specs = admin_library().OffsetSpec

    def ask(spec: Any) -> dict[int, int]:
        wanted = {TopicPartition(topic, index): spec for index in partitions}
        futures = admin.list_offsets(wanted)
        return {
            place.partition: broker.result(future, f"{topic}-{place.partition}").offset
            for place, future in futures.items()
        }

    return ask(specs.earliest()), ask(specs.latest())


def _say(result: output.Row, sentence: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(result)
    else:
        print(sentence)
