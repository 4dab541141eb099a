"""Idempotent consumer, second form: a change carries the version that it makes, and is applied
only to the version before.

A late copy of version 7 finds version 7 or a later one and does nothing. A version that comes too
early is an error, because applying it would lose the one in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update

from headrace.patterns.errors import EntityNotFound, VersionGap
from headrace.patterns.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table
    from sqlalchemy.orm import Session


class Version:
    """Updates rows of ``table``, each version of each row once."""

    def __init__(self, table: Table, key_column: str, version_column: str = "version") -> None:
        self._table = table
        self._key = table.c[key_column]
        self._version = table.c[version_column]

    def update(
        self, session: Session, key: Any, version: int, values: Mapping[str, Any]
    ) -> Outcome:
        """Make ``version`` of the row ``key``; its stored version must be ``version - 1``."""
        statement = (
            update(self._table)
            .where(self._key == key, self._version == version - 1)
            .values({**values, self._version.name: version})
            .returning(self._key)
        )
        if session.execute(statement).first() is not None:
            return Outcome.APPLIED
        stored = session.execute(select(self._version).where(self._key == key)).scalar_one_or_none()
        if stored is None:
            raise EntityNotFound(
                f"{self._table.name} has no row {key!r}: handle the message that creates it "
                "first, or deliver this one again later"
            )
        if stored >= version:
            return Outcome.DUPLICATE
        raise VersionGap(
            f"{self._table.name} {key!r} has version {stored}, the message makes {version}: "
            f"version {stored + 1} is missing; use one key per entity so that its messages "
            "keep their order, and deliver this one again later"
        )
