"""Asking groups from a handler: the answer comes when the coordinator has one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.frontends.kafka.context import Pending
from headrace.model.errors import HeadraceError, UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.broker.groups import Groups
    from headrace.frontends.kafka.context import RequestContext


def raise_if_not_served(context: RequestContext) -> None:
    """The operator may leave the consumer protocol (KIP-848) out."""
    if "consumer" not in context.broker.config.group_coordinator_rebalance_protocols:
        raise UnsupportedVersion("group.coordinator.rebalance.protocols leaves consumer out")


def ask(groups: Groups, group_id: str, command: Any, render: Callable[[Any], Any]) -> Pending:
    """``render`` makes the response of the reply, which may be a HeadraceError."""
    pending = Pending()
    groups.submit(group_id, command, lambda reply: pending.complete(render(reply)))
    return pending


def ask_each(
    groups: Groups,
    commands: Sequence[tuple[str, Any]],
    render: Callable[[Sequence[Any]], Any],
) -> Pending:
    """Several groups at once; ``render`` gets their replies in the order of the commands.

    A command that is an error is its own reply: that group is not asked.
    """
    pending = Pending()
    replies: list[Any] = [None] * len(commands)
    missing = len(commands)

    def keep(index: int, reply: Any) -> None:
        nonlocal missing
        replies[index] = reply
        missing -= 1
        if missing == 0:
            pending.complete(render(replies))

    if not commands:
        pending.complete(render(replies))
    for index, (group_id, command) in enumerate(commands):
        if isinstance(command, HeadraceError):
            keep(index, command)
        else:
            groups.submit(group_id, command, partial(keep, index))
    return pending
