"""Databases for a run: files of SQLite, or a PostgreSQL server of the run's own."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from sqlalchemy import create_engine, text

from tests.patterns.postgresql import PostgreSQL, find_binaries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Database = Literal["postgresql", "sqlite"]
SERVICE = "{service}"


def database_missing(database: Database) -> str | None:
    """Why this database cannot run here; None if it can."""
    if database == "sqlite" or find_binaries() is not None:
        return None
    return "PostgreSQL's initdb and pg_ctl are not on this machine: apt-get install postgresql"


@contextmanager
def url_pattern(database: Database, directory: Path, names: Sequence[str]) -> Iterator[str]:
    """A URL for SQLAlchemy with {service} in it; the databases of these names exist."""
    if database == "sqlite":
        directory.mkdir(parents=True, exist_ok=True)
        yield f"sqlite:///{directory}/{SERVICE}.db"
        return
    binaries = find_binaries()
    assert binaries is not None, "ask database_missing first"
    with PostgreSQL(binaries) as server:
        engine = create_engine(server.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            for name in names:
                connection.execute(text(f'CREATE DATABASE "{name}"'))
        engine.dispose()
        yield server.url.removesuffix("/postgres") + f"/{SERVICE}"
