"""``headrace group``: list, describe, reset-offsets, delete. (Typer reads these annotations.)"""

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli import output
from headrace.cli.client import Broker, connect
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.group_lag import committed_offsets, end_offsets, group_lags
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Json,
    Timeout,
)
from headrace.cli.reset import Target, planned_offsets
from headrace.cli.times import parse_time_ms

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

app = typer.Typer(
    help="Look at consumer groups, move and delete them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(help="The group.")]


@app.command("list")
def list_groups(
    no_lag: Annotated[
        bool, typer.Option("--no-lag", help="Quicker: do not ask how far each is behind.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006 - typer copies it
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """List groups, and how many records each is behind."""
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    listed = broker.result(admin.list_consumer_groups())
    rows: list[output.Row] = [
        {"group": each.group_id, "state": _word(each.state), "kind": _word(each.type)}
        for each in sorted(listed.valid, key=lambda each: str(each.group_id))
    ]
    columns: tuple[str, ...] = ("group", "state", "kind")
    if not no_lag:
        lags = group_lags(broker, admin, [str(row["group"]) for row in rows])
        rows = [{**row, "lag": lags[str(row["group"])]} for row in rows]
        columns = (*columns, "lag")
    output.print_rows(rows, columns, as_json=as_json)


@app.command("describe")
def describe(
    name: Name,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Show a group's members, committed offsets and lag."""
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    found = _described(broker, admin, name)
    committed = committed_offsets(broker, admin, name)
    owners = {
        (place.topic, place.partition): member.member_id
        for member in found.members
        for place in member.assignment.topic_partitions
    }
    ends = end_offsets(broker, admin, {topic for topic, _ in committed.keys() | owners.keys()})
    rows = [
        _offset_row(place, committed.get(place), ends.get(place), owners.get(place))
        for place in sorted(committed.keys() | owners.keys())
    ]
    summary: output.Row = {
        "group": name,
        "state": _word(found.state),
        "kind": _word(found.type),
        "assignor": found.partition_assignor or None,
        "members": [_member(each) for each in found.members],
    }
    if as_json:
        output.print_json({**summary, "offsets": rows})
        return
    output.print_pairs({**summary, "members": len(found.members)}, as_json=False)
    columns = ("topic", "partition", "committed", "end_offset", "lag", "member")
    output.print_rows(rows, columns, as_json=False)


@app.command("reset-offsets")
def reset_offsets(
    name: Name,
    topic: Annotated[
        list[str], typer.Option("--topic", "-t", metavar="TOPIC[:P,P]", help="What to move.")
    ],
    to_earliest: Annotated[bool, typer.Option("--to-earliest")] = False,
    to_latest: Annotated[bool, typer.Option("--to-latest")] = False,
    to_offset: Annotated[int | None, typer.Option("--to-offset", min=0)] = None,
    to_time: Annotated[str | None, typer.Option("--to-time", metavar="TIME")] = None,
    shift_by: Annotated[
        int | None, typer.Option("--shift-by", help="Forward, or back if negative.")
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Do it; without this the plan is only shown.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Move a group that has no members.

    \b
    headrace group reset-offsets billing --topic orders --to-earliest --execute
    headrace group reset-offsets billing --topic orders:0,1 --to-time -1h
    """
    time_ms = None if to_time is None else parse_time_ms(to_time, int(time.time() * 1_000))
    target = Target(to_earliest, to_latest, to_offset, time_ms, shift_by)
    target.raise_if_unclear()
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    committed = committed_offsets(broker, admin, name)
    plan = planned_offsets(broker, admin, topic, committed, target)
    if execute:
        _write_offsets(broker, admin, name, plan)
    rows: list[output.Row] = [
        {"topic": place[0], "partition": place[1], "from": committed.get(place), "to": offset}
        for place, offset in sorted(plan.items())
    ]
    if as_json:
        output.print_json({"group": name, "executed": execute, "offsets": rows})
        return
    output.print_rows(rows, ("topic", "partition", "from", "to"), as_json=False)
    if not execute:
        output.note("nothing was changed: pass --execute to do it")


@app.command("delete")
def delete(
    names: Annotated[list[str], typer.Argument(help="The groups.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Delete groups without members, and their offsets. Asks first, on a terminal."""
    broker = connect(bootstrap, client, timeout)
    admin = broker.admin()
    broker.metadata(admin)
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete {', '.join(names)} and their offsets?", abort=True, err=True)
    futures = admin.delete_consumer_groups(names)
    for name in names:
        broker.result(futures[name], f"group {name}")
    if as_json:
        output.print_json({"deleted": names})
    else:
        print(f"deleted {', '.join(names)}")


def _described(broker: Broker, admin: "AdminClient", name: str) -> Any:
    found = broker.result(admin.describe_consumer_groups([name])[name], f"group {name}")
    if _word(found.state) == "dead":
        raise Failure(f"there is no group {name}; see: headrace group list", ExitCode.NOT_FOUND)
    return found


def _write_offsets(
    broker: Broker, admin: "AdminClient", name: str, plan: dict[tuple[str, int], int]
) -> None:
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    places = [TopicPartition(*place, offset) for place, offset in sorted(plan.items())]
    request = ConsumerGroupTopicPartitions(name, places)
    answer = broker.result(admin.alter_consumer_group_offsets([request])[name], f"group {name}")
    for place in answer.topic_partitions:
        if place.error is not None:
            raise broker.failure(place.error, f"group {name}, {place.topic}-{place.partition}")


def _offset_row(
    place: tuple[str, int], committed: int | None, end: int | None, member: str | None
) -> output.Row:
    lag = None if committed is None or end is None else max(end - committed, 0)
    return {
        "topic": place[0],
        "partition": place[1],
        "committed": committed,
        "end_offset": end,
        "lag": lag,
        "member": member,
    }


def _member(member: Any) -> output.Row:
    return {
        "member": member.member_id,
        "instance": member.group_instance_id,
        "client": member.client_id,
        "host": member.host,
        "partitions": [
            f"{place.topic}-{place.partition}" for place in member.assignment.topic_partitions
        ],
    }


def _word(value: Any) -> str | None:
    return None if value is None else value.name.lower().replace("_", "-")
