"""Insert a row unless its key is there already, without failing the caller's transaction.

An ordinary insert that hits a unique constraint makes PostgreSQL refuse the rest of the
transaction; ``ON CONFLICT DO NOTHING`` does not. A second transaction with the same key waits for
the first one to end and then sees its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy.dialects import postgresql, sqlite

from headrace.patterns.errors import UnsupportedDatabase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Table
    from sqlalchemy.orm import Session

SUPPORTED_DIALECTS = ("postgresql", "sqlite")


def raise_if_unsupported(dialect_name: str) -> None:
    if dialect_name not in SUPPORTED_DIALECTS:
        raise UnsupportedDatabase(
            f"{dialect_name} is not supported by headrace.patterns; "
            f"use one of: {', '.join(SUPPORTED_DIALECTS)}"
        )


def insert_unless_there(
    session: Session, table: Table, key_columns: Sequence[str], values: Mapping[str, Any]
) -> bool:
    """True if the row was inserted, False if its key was there."""
    dialect_name = session.get_bind().dialect.name
    raise_if_unsupported(dialect_name)
    insert = postgresql.insert if dialect_name == "postgresql" else sqlite.insert
    statement = (
        insert(table)
        .values(dict(values))
        .on_conflict_do_nothing(index_elements=list(key_columns))
        .returning(*(table.c[name] for name in key_columns))
    )
    return session.execute(statement).first() is not None
