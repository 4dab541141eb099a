"""The far end of the outbox: counts every message once, by an idempotent consumer.

Adding one is an effect that shows every repetition, so only the record of handled ids protects it.

    python -m soak.patterns.receiver DATABASE_URL BOOTSTRAP_SERVERS TOPIC
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, create_engine, update

from headrace.patterns import ConsumerLoop, Outcome, RecordAndCheck, UniqueKey
from soak.clients import as_bytes

if TYPE_CHECKING:
    from confluent_kafka import Message
    from sqlalchemy.orm import Session

GROUP = "receiver"
SESSION_TIMEOUT_MS = 2_000
"""What a killed receiver held is idle for so long."""
BUSY_SECONDS_MAX = 30

metadata = MetaData()
received = Table(
    "received",
    metadata,
    Column("account", Text, primary_key=True),
    Column("messages", Integer, nullable=False),
    Column("sum_of_versions", Integer, nullable=False),
)
once = RecordAndCheck(metadata, GROUP)
first_of_account = UniqueKey(received, "account")


def open_database(url: str) -> Engine:
    """SQLite has one writer at a time: wait for it."""
    options: dict[str, Any] = {}
    if url.startswith("sqlite"):
        options["connect_args"] = {"timeout": BUSY_SECONDS_MAX}
    return create_engine(url, **options)


@once
def handle(session: Session, message: Message) -> None:
    account = (as_bytes(message.key()) or b"").decode()
    version = int(as_bytes(message.value()) or b"0")
    row = {"account": account, "messages": 1, "sum_of_versions": version}
    if first_of_account.insert(session, row) is Outcome.APPLIED:
        return
    session.execute(
        update(received)
        .where(received.c.account == account)
        .values(
            messages=received.c.messages + 1, sum_of_versions=received.c.sum_of_versions + version
        )
    )


def main() -> None:
    url, bootstrap_servers, topic = sys.argv[1:]
    engine = open_database(url)
    metadata.create_all(engine)
    config = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": GROUP,
        "session.timeout.ms": SESSION_TIMEOUT_MS,
        "heartbeat.interval.ms": SESSION_TIMEOUT_MS // 4,
        "auto.commit.interval.ms": 200,
    }
    ConsumerLoop(config, [topic], engine, handle).run(threading.Event())


if __name__ == "__main__":
    main()
