"""A service to be killed: changes an account and adds a message, in one transaction, again and
again. Each message says the account's new version, so order, loss and invention can be seen.

    python -m tests.patterns.order_service DATABASE_URL TABLE TOPIC SEED
"""

from __future__ import annotations

import random
import sys

from sqlalchemy import Column, Integer, MetaData, Table, create_engine, update
from sqlalchemy.orm import Session

from headrace.patterns import Outbox

ACCOUNTS = 8
ROLL_BACK_SHARE = 0.1


def accounts_table(metadata: MetaData, outbox_name: str) -> Table:
    return Table(
        f"{outbox_name}_accounts",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("version", Integer, nullable=False),
    )


def main() -> None:
    url, outbox_name, topic, seed = sys.argv[1:]
    chance = random.Random(int(seed))
    metadata = MetaData()
    outbox = Outbox(metadata, table_name=outbox_name)
    accounts = accounts_table(metadata, outbox_name)
    engine = create_engine(url)
    while True:
        account = chance.randrange(ACCOUNTS)
        with Session(engine) as session:
            version = session.execute(
                update(accounts)
                .where(accounts.c.id == account)
                .values(version=accounts.c.version + 1)
                .returning(accounts.c.version)
            ).scalar_one()
            outbox.add(session, topic, str(account), str(version))
            if chance.random() < ROLL_BACK_SHARE:
                session.rollback()
            else:
                session.commit()


if __name__ == "__main__":
    main()
