"""``headrace acl``: create, list and delete access rules. (Typer reads these annotations.)"""

import sys
from enum import Enum
from typing import Annotated, Any

import typer

from headrace.cli import output
from headrace.cli.acl_rules import (
    Subjects,
    filters,
    named_resources,
    parse_operation,
    row,
    rules,
)
from headrace.cli.client import admin_library, reach
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Json,
    Timeout,
)
from headrace.security.acl import (
    AclBinding,
    AclBindingFilter,
    Operation,
    PatternType,
    Permission,
    Principal,
    ResourceType,
)

app = typer.Typer(
    help="Say who may do what; needs a broker with authorizer.class.name.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

COLUMNS = ("resource", "name", "pattern", "principal", "host", "operation", "permission")

Topics = Annotated[list[str], typer.Option("--topic", "-t", help="A topic; * for all.")]
Groups = Annotated[list[str], typer.Option("--group", "-g", help="A consumer group; * for all.")]
TransactionalIds = Annotated[
    list[str], typer.Option("--transactional-id", help="A transactional id; * for all.")
]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
Operations = Annotated[
    list[str], typer.Option("--operation", "-o", help="Such as read, write, describe-configs.")
]
Principals = Annotated[
    list[str], typer.Option("--principal", help="Rules of this principal, such as User:alice.")
]


class Pattern(Enum):
    """Which rules a name selects."""

    any = "any"
    literal = "literal"
    prefixed = "prefixed"
    match = "match"


Patterns = Annotated[
    Pattern,
    typer.Option("--pattern", help="match: all rules that apply to a resource of this name."),
]


@app.command("create")
def create(
    allow: Annotated[
        list[str], typer.Option("--allow-principal", help="Whom to allow, such as User:alice.")
    ] = [],  # noqa: B006 - typer copies it
    deny: Annotated[
        list[str], typer.Option("--deny-principal", help="Whom to deny; beats all that allows.")
    ] = [],  # noqa: B006
    host: Annotated[
        list[str], typer.Option("--host", help="From this address only. [default: *]")
    ] = [],  # noqa: B006
    operation: Operations = [],  # noqa: B006
    topic: Topics = [],  # noqa: B006
    group: Groups = [],  # noqa: B006
    transactional_id: TransactionalIds = [],  # noqa: B006
    cluster: Cluster = False,
    prefixed: Annotated[
        bool, typer.Option("--prefixed", help="Names are prefixes: all that begins with them.")
    ] = False,
    producer: Annotated[
        bool, typer.Option("--producer", help="All that writing to the topics needs.")
    ] = False,
    consumer: Annotated[
        bool, typer.Option("--consumer", help="All that reading the topics in the groups needs.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Create rules: one for each combination; without --operation, all operations.

    \b
    headrace acl create --allow-principal User:alice --producer --topic orders
    headrace acl create --allow-principal User:bob --consumer --topic orders --group billing
    headrace acl create --allow-principal User:ops --operation alter-configs --cluster
    headrace acl create --deny-principal 'User:*' --host 10.0.0.9 --topic pay. --prefixed
    """
    wanted = rules(
        named_resources(topic, group, transactional_id, cluster=cluster),
        Subjects(allow, deny, host),
        [parse_operation(each) for each in operation],
        PatternType.PREFIXED if prefixed else PatternType.LITERAL,
        producer=producer,
        consumer=consumer,
    )
    broker, admin = reach(bootstrap, client, timeout)
    futures = admin.create_acls([_library_binding(each) for each in wanted])
    for future in futures.values():
        broker.result(future, "access rule")
    _print(wanted, as_json=as_json)


@app.command("list")
def list_rules(
    topic: Topics = [],  # noqa: B006
    group: Groups = [],  # noqa: B006
    transactional_id: TransactionalIds = [],  # noqa: B006
    cluster: Cluster = False,
    principal: Principals = [],  # noqa: B006
    pattern: Patterns = Pattern.match,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """List rules, all or those that apply to what is named.

    \b
    headrace acl list
    headrace acl list --topic orders
    headrace acl list --principal User:alice --json
    """
    wanted = filters(
        named_resources(topic, group, transactional_id, cluster=cluster),
        principal,
        (),
        PatternType[pattern.name.upper()],
    )
    broker, admin = reach(bootstrap, client, timeout)
    found: dict[AclBinding, None] = {}
    for each in wanted:
        listed = broker.result(admin.describe_acls(_library_filter(each)), "access rules")
        found |= dict.fromkeys(map(_binding, listed))
    _print(sorted(found), as_json=as_json)
    if not found:
        # The library passes over the error of a broker that has no authorizer.
        output.note("no rule matches, or the broker has no authorizer")


@app.command("delete")
def delete(
    topic: Topics = [],  # noqa: B006
    group: Groups = [],  # noqa: B006
    transactional_id: TransactionalIds = [],  # noqa: B006
    cluster: Cluster = False,
    principal: Principals = [],  # noqa: B006
    operation: Operations = [],  # noqa: B006
    pattern: Patterns = Pattern.any,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Delete the rules that the options select. Shows them and asks first, on a terminal.

    \b
    headrace acl delete --topic orders --principal User:alice
    headrace acl delete --topic pay. --pattern prefixed --operation read --yes
    """
    resources = named_resources(topic, group, transactional_id, cluster=cluster)
    if not (resources or principal):
        raise Failure(
            "say which rules: --topic, --group, --transactional-id, --cluster or --principal",
            ExitCode.USAGE,
        )
    operations = [parse_operation(each) for each in operation]
    wanted = filters(resources, principal, operations, PatternType[pattern.name.upper()])
    broker, admin = reach(bootstrap, client, timeout)
    if not yes and sys.stdin.isatty():
        typer.confirm("Delete all rules that match?", abort=True, err=True)
    futures = admin.delete_acls([_library_filter(each) for each in wanted])
    gone: dict[AclBinding, None] = {}
    for future in futures.values():
        gone |= dict.fromkeys(map(_binding, broker.result(future, "access rules")))
    _print(sorted(gone), as_json=as_json)
    if not gone:
        output.note("no rule matches: nothing was deleted")


def _print(bindings: list[AclBinding], *, as_json: bool) -> None:
    output.print_rows([row(each) for each in bindings], COLUMNS, as_json=as_json)


def _library_binding(binding: AclBinding) -> Any:
    return admin_library().AclBinding(
        int(binding.resource_type),
        binding.resource_name,
        int(binding.pattern_type),
        str(binding.principal),
        binding.host,
        int(binding.operation),
        int(binding.permission),
    )


def _library_filter(wanted: AclBindingFilter) -> Any:
    return admin_library().AclBindingFilter(
        int(wanted.resource_type),
        wanted.resource_name,
        int(wanted.pattern_type),
        wanted.principal,
        wanted.host,
        int(wanted.operation),
        int(wanted.permission),
    )


def _binding(listed: Any) -> AclBinding:
    return AclBinding(
        ResourceType(listed.restype.value),
        listed.name,
        PatternType(listed.resource_pattern_type.value),
        Principal.parse(listed.principal),
        listed.host,
        Operation(listed.operation.value),
        Permission(listed.permission_type.value),
    )
