"""``headrace quota``: set, list, delete. (Typer reads these annotations.)"""

from typing import Annotated, Any

import typer

from headrace.cli import output
from headrace.cli.assignments import parse_assignments
from headrace.cli.direct_client import DirectClient
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Json,
    Timeout,
)
from headrace.codecs.kafka.generated.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from headrace.codecs.kafka.generated.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from headrace.quotas.entities import CLIENT_ID, IP, USER

DESCRIBE, ALTER = 48, 49
VERSION = 1
EXACT, BY_DEFAULT = 0, 1
INVALID_REQUEST = 42
DEFAULT = "<default>"
"""What a name is shown as that stands for everybody without a quota of his own."""

app = typer.Typer(
    help="Limit what clients may send, fetch and ask: per user, client id and address.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

User = Annotated[str | None, typer.Option("--user", "-u", help="Of this user.")]
Client = Annotated[str | None, typer.Option("--client-id", "-c", help="Of this client id.")]
Address = Annotated[str | None, typer.Option("--ip", help="Of this address.")]
DefaultUser = Annotated[
    bool, typer.Option("--default-user", help="Of every user without a quota of its own.")
]
DefaultClient = Annotated[
    bool, typer.Option("--default-client-id", help="Of every client id without one of its own.")
]
DefaultAddress = Annotated[
    bool, typer.Option("--default-ip", help="Of every address without one of its own.")
]


@app.command("set")
def set_(
    quotas: Annotated[list[str], typer.Argument(metavar="NAME=NUMBER...")],
    user: User = None,
    default_user: DefaultUser = False,
    client_id: Client = None,
    default_client_id: DefaultClient = False,
    ip: Address = None,
    default_ip: DefaultAddress = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Set quotas. They take effect at once and survive a restart.

    Of users and client ids: producer_byte_rate, consumer_byte_rate (bytes per second),
    request_percentage (of the time of one thread), controller_mutation_rate (partitions created and
    deleted per second). Of addresses: connection_creation_rate (connections per second).

    \b
    headrace quota set --user alice producer_byte_rate=1048576 consumer_byte_rate=2097152
    headrace quota set --user alice --client-id reports request_percentage=50
    headrace quota set --default-client-id producer_byte_rate=1048576
    headrace quota set --ip 10.0.0.7 connection_creation_rate=5
    """
    entity = _one_entity(_entity(user, default_user, client_id, default_client_id, ip, default_ip))
    values = {name: _number(name, text) for name, text in parse_assignments(quotas, "").items()}
    changes = [OpData(name, value, remove=False) for name, value in values.items()]
    with _connected(bootstrap, client, timeout) as broker:
        _alter(broker, entity, changes)
    result: output.Row = {"entity": _shown(entity), "set": values}
    _say(result, f"set {', '.join(values)}", as_json=as_json)


@app.command("list")
def list_(
    user: User = None,
    default_user: DefaultUser = False,
    client_id: Client = None,
    default_client_id: DefaultClient = False,
    ip: Address = None,
    default_ip: DefaultAddress = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Only entities with exactly the parts that are given.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Show the quotas that are set; all, or those that mention somebody.

    \b
    headrace quota list
    headrace quota list --user alice
    headrace quota list --user alice --strict
    headrace quota list --default-user --json
    """
    entity = _entity(user, default_user, client_id, default_client_id, ip, default_ip)
    with _connected(bootstrap, client, timeout) as broker:
        entries = _describe(broker, entity, strict=strict)
    rows: list[output.Row] = [
        {**dict.fromkeys((USER, CLIENT_ID, IP)), **_shown(parts), "quota": name, "value": value}
        for parts, values in entries
        for name, value in values.items()
    ]
    columns = (USER, CLIENT_ID, IP, "quota", "value")
    output.print_rows(rows, columns, as_json=as_json)


@app.command("delete")
def delete(
    names: Annotated[list[str] | None, typer.Argument(help="The quotas; without, all.")] = None,
    user: User = None,
    default_user: DefaultUser = False,
    client_id: Client = None,
    default_client_id: DefaultClient = False,
    ip: Address = None,
    default_ip: DefaultAddress = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Take quotas away from one entity.

    \b
    headrace quota delete --user alice producer_byte_rate
    headrace quota delete --user alice --client-id reports
    """
    entity = _one_entity(_entity(user, default_user, client_id, default_client_id, ip, default_ip))
    with _connected(bootstrap, client, timeout) as broker:
        found = _describe(broker, entity, strict=True)
        values = found[0][1] if found else {}
        wanted = names or list(values)
        absent = [name for name in wanted if name not in values]
        if absent or not wanted:
            missing = ", ".join(absent) or "any quota"
            raise Failure(
                f"{missing}: not set for this entity; see: headrace quota list", ExitCode.NOT_FOUND
            )
        _alter(broker, entity, [OpData(name, 0.0, remove=True) for name in wanted])
    result: output.Row = {"entity": _shown(entity), "deleted": wanted}
    _say(result, f"deleted {', '.join(wanted)}", as_json=as_json)


_Entity = dict[str, str | None]
"""By kind; None is the default."""


def _entity(
    user: str | None,
    default_user: bool,
    client_id: str | None,
    default_client_id: bool,
    ip: str | None,
    default_ip: bool,
) -> _Entity:
    entity: _Entity = {}
    for kind, name, is_default in (
        (USER, user, default_user),
        (CLIENT_ID, client_id, default_client_id),
        (IP, ip, default_ip),
    ):
        if name is not None and is_default:
            raise Failure(f"pass --{kind} or --default-{kind}, not both", ExitCode.USAGE)
        if name is not None or is_default:
            entity[kind] = name
    return entity


def _one_entity(entity: _Entity) -> _Entity:
    if not entity:
        raise Failure(
            "for whom? pass --user, --client-id or --ip, or one of --default-user, "
            "--default-client-id, --default-ip",
            ExitCode.USAGE,
        )
    return entity


def _connected(bootstrap: str, settings: list[str], timeout: float) -> DirectClient:
    return DirectClient(bootstrap, parse_assignments(settings, "-X"), timeout)


def _describe(
    broker: DirectClient, entity: _Entity, *, strict: bool
) -> list[tuple[_Entity, dict[str, float]]]:
    components = [
        ComponentData(kind, BY_DEFAULT if name is None else EXACT, name)
        for kind, name in entity.items()
    ]
    answer = broker.call(DESCRIBE, VERSION, DescribeClientQuotasRequest(components, strict))
    _raise_if_refused(answer)
    return [
        (
            {part.entity_type: part.entity_name for part in entry.entity},
            {value.key: value.value for value in entry.values},
        )
        for entry in answer.entries or ()
    ]


def _alter(broker: DirectClient, entity: _Entity, changes: list[OpData]) -> None:
    parts = [RequestEntityData(kind, name) for kind, name in entity.items()]
    request = AlterClientQuotasRequest([RequestEntryData(parts, changes)])
    for result in broker.call(ALTER, VERSION, request).entries:
        _raise_if_refused(result)


def _raise_if_refused(answer: Any) -> None:
    if answer.error_code:
        message = answer.error_message or f"the broker refused with error {answer.error_code}"
        is_usage = answer.error_code == INVALID_REQUEST
        raise Failure(message, ExitCode.USAGE if is_usage else ExitCode.FAILED)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Failure(f"{name}={text}: expected a number", ExitCode.USAGE) from None


def _shown(entity: _Entity) -> dict[str, str]:
    return {kind: DEFAULT if name is None else name for kind, name in entity.items()}


def _say(result: output.Row, sentence: str, *, as_json: bool) -> None:
    if as_json:
        output.print_json(result)
    else:
        print(sentence)
