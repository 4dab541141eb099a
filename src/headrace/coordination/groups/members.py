"""One member of a classic group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.records import StoredMember

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from headrace.coordination.groups.commands import Protocol
    from headrace.coordination.shard import Decision, Token

NO_ASSIGNMENT = b""


class ClassicMember:
    """Identity and assignment survive a restart; protocols, tokens and deadlines are soft."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "expire",
        "instance_id",
        "is_new",
        "is_unheard",
        "join_token",
        "member_id",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync_token",
    )

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        protocols: tuple[Protocol, ...],
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.protocols = protocols
        self.assignment = NO_ASSIGNMENT
        self.is_new = False
        self.is_unheard = False
        """Known from the log alone: nobody has spoken in its name since the start."""
        self.join_token: Token | None = None
        self.sync_token: Token | None = None
        self.expire: Callable[[int], Decision] | None = None
        """What the end of its session does; the member itself is the key of that deadline."""

    @property
    def is_awaiting_join(self) -> bool:
        return self.join_token is not None

    @property
    def is_kept_alive_by_waiting(self) -> bool:
        """A member whose request we hold cannot send heartbeats.

        A new one can vanish without our noticing and come back under another id, so its first join
        is held against the clock.
        """
        return not self.is_new and (self.join_token is not None or self.sync_token is not None)

    def metadata(self, protocol_name: str | None) -> bytes:
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return b""

    def vote(self, candidates: Collection[str]) -> str | None:
        """The first of its protocols, in the order of its preference, that everybody supports."""
        return next((p.name for p in self.protocols if p.name in candidates), None)

    def stored(self, protocol_name: str | None, assignment: bytes) -> StoredMember:
        return StoredMember(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol_name),
            assignment,
        )
