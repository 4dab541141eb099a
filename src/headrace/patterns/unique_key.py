"""Idempotent consumer, first form: the row that the message creates has a key of the business.

A payment of order 42 can exist once. The unique constraint of your own table says so, and a second
delivery finds the row there. Nothing else has to be stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.model.errors import InvalidConfig
from headrace.patterns.conflict import insert_unless_there
from headrace.patterns.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Table
    from sqlalchemy.orm import Session


class UniqueKey:
    """Inserts rows of ``table``, each key once.

    ``key_columns`` must be the primary key or have a unique constraint of their own.
    """

    def __init__(self, table: Table, *key_columns: str) -> None:
        unknown = [name for name in key_columns if name not in table.c]
        if unknown or not key_columns:
            raise InvalidConfig(
                f"{table.name} has no column {unknown}: name its unique columns, "
                f"some of {list(table.c.keys())}"
            )
        self._table = table
        self._key_columns = key_columns

    def insert(self, session: Session, values: Mapping[str, Any]) -> Outcome:
        """Insert in the caller's transaction; do the rest of the work only if it is APPLIED."""
        inserted = insert_unless_there(session, self._table, self._key_columns, values)
        return Outcome.APPLIED if inserted else Outcome.DUPLICATE
