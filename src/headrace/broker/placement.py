"""Where partitions are and who leads them: on this node, in its one directory, alone.

So nothing can move. What is asked for is either the case already, or refused in the words that a
cluster would use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.model.errors import (
    BrokerNotRegistered,
    ElectionNotNeeded,
    InvalidReplicaAssignment,
    LogDirectoryNotFound,
    NoReassignmentInProgress,
    PolicyViolation,
    UnknownTopicOrPartition,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.broker.topics import Topics
    from headrace.model.errors import HeadraceError


def raise_if_not_movable_to(
    topics: Topics, name: str, index: int, path: str, directory: str
) -> None:
    """Return if the partition is in the directory ``path``, the only one there can be."""
    if path != directory:
        raise LogDirectoryNotFound(f"{path}: the only log directory is {directory}")
    _raise_if_unknown(topics, name, index)


def raise_if_not_reassignable(
    topics: Topics, name: str, index: int, replicas: Sequence[int], node_id: int
) -> None:
    """Return if ``replicas`` are those that the partition has: this node."""
    _raise_if_unknown(topics, name, index)
    if list(replicas) != [node_id]:
        raise InvalidReplicaAssignment(
            f"{name}-{index} to {list(replicas)}: the only broker is {node_id}, "
            f"so the replicas must be [{node_id}]"
        )


def cancellation_refusal(topics: Topics, name: str, index: int) -> HeadraceError:
    """Why a reassignment cannot be cancelled: there never is one."""
    if topics.partition(name, index) is None:
        return _unknown(name, index)
    return NoReassignmentInProgress(f"{name}-{index} is not being reassigned")


def election_refusal(topics: Topics, name: str, index: int) -> HeadraceError:
    """Why no leader is elected: every partition has its preferred leader, and it is alive."""
    if topics.partition(name, index) is None:
        return _unknown(name, index)
    return ElectionNotNeeded(f"{name}-{index} is led by its preferred leader")


def unregistration_refusal(broker_id: int, node_id: int) -> HeadraceError:
    """Why a broker is not forgotten: it is not known, or it is the one that answers."""
    if broker_id != node_id:
        return BrokerNotRegistered(f"there is no broker {broker_id}: the only one is {node_id}")
    return PolicyViolation(f"broker {node_id} is alive and the only one: it cannot be unregistered")


def _raise_if_unknown(topics: Topics, name: str, index: int) -> None:
    if topics.partition(name, index) is None:
        raise _unknown(name, index)


def _unknown(name: str, index: int) -> HeadraceError:
    return UnknownTopicOrPartition(f"there is no partition {name}-{index}")
