"""The near end of the outbox: changes accounts, each change with its message in one transaction.

Each message says the account's new version, so that loss, repetition, disorder and invention can be
told from the messages alone. Some transactions are rolled back.

    python -m soak.patterns.account_service DATABASE_URL TOPIC SEED
"""

from __future__ import annotations

import random
import sys
import time

from sqlalchemy import Column, Engine, Integer, MetaData, Table, insert, select, update
from sqlalchemy.orm import Session

from headrace.patterns import Outbox
from soak.patterns.receiver import open_database

ACCOUNTS = 8
ROLL_BACK_SHARE = 0.1
PAUSE_SECONDS = 0.005
"""Two hundred changes a second at most: a relay that is killed all the time must keep up."""

metadata = MetaData()
accounts = Table(
    "accounts",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
)
outbox = Outbox(metadata)


def prepare(engine: Engine) -> None:
    metadata.create_all(engine)
    outbox.create_tables(engine)
    with engine.begin() as connection:
        connection.execute(insert(accounts), [{"id": n, "version": 0} for n in range(ACCOUNTS)])


def versions(engine: Engine) -> dict[int, int]:
    """How often each account was changed."""
    with engine.connect() as connection:
        rows = connection.execute(select(accounts.c.id, accounts.c.version)).all()
    return {row.id: row.version for row in rows}


def change(session: Session, topic: str, account: int) -> None:
    statement = update(accounts).where(accounts.c.id == account)
    statement = statement.values(version=accounts.c.version + 1)
    version = session.execute(statement.returning(accounts.c.version)).scalar_one()
    outbox.add(session, topic, str(account), str(version))


def main() -> None:
    url, topic, seed = sys.argv[1:]
    chance = random.Random(int(seed))
    engine = open_database(url)
    while True:
        with Session(engine) as session:
            change(session, topic, chance.randrange(ACCOUNTS))
            if chance.random() < ROLL_BACK_SHARE:
                session.rollback()
            else:
                session.commit()
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
