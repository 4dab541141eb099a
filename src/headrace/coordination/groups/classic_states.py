"""The states of a classic group, and every change between them that is legal.

Empty                 no members; offsets may be there. A group is born here.
PreparingRebalance    members are called to join again; joins wait until all have, or time is up.
CompletingRebalance   the new generation is fixed; its leader owes the assignment, followers wait.
Stable                everybody has what the leader assigned; heartbeats only.
Dead                  deleted. The object lives on only in the hands of whoever still holds it.

    Empty --join--> Preparing --all joined, or time is up--> Completing --leader syncs--> Stable
      ^                 |  ^                                     |                           |
      +--nobody left----+  +--join, leave, expiry, no sync-------+---------------------------+

The step to Stable is made by replaying the record that holds the assignment, and the step to Empty
writes one too: those survive a restart. The others are soft: after a restart a group is Stable as
last written, its members find a generation that is not theirs, and join again.
"""

from __future__ import annotations

from enum import StrEnum


class ClassicState(StrEnum):
    """The value is the name that administrators see."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


LEGAL_CHANGES: dict[ClassicState, frozenset[ClassicState]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING, ClassicState.DEAD}),
    ClassicState.PREPARING: frozenset(
        {ClassicState.COMPLETING, ClassicState.EMPTY, ClassicState.DEAD}
    ),
    ClassicState.COMPLETING: frozenset(
        {ClassicState.STABLE, ClassicState.PREPARING, ClassicState.DEAD}
    ),
    ClassicState.STABLE: frozenset({ClassicState.PREPARING, ClassicState.DEAD}),
    ClassicState.DEAD: frozenset(),
}
