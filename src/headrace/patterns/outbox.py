"""Transactional outbox: a message is a row, added in the transaction of the change it tells of.

    outbox = Outbox(metadata)
    with Session(engine) as session, session.begin():
        order.state = "paid"
        outbox.add(session, "orders", key="42", value=b"paid")

The row commits with the change or not at all. A relay (:mod:`headrace.patterns.relay`) sends it.

Order. Ids come from a sequence when a row is added, but rows become visible when their transaction
commits, so a smaller id may appear after a larger one. The relay therefore keeps no "last id": it
takes whatever rows are visible, by id, and deletes what it sent; a late row is taken later. That
keeps the order that anyone can rely on: if transaction A had committed before B added its row,
every snapshot that shows B shows A, and A has the smaller id. ``add`` flushes the session first,
so that the row locks of your change are held before the id is drawn: two transactions that change
the same row are then ordered as their changes are. Where nothing else orders the transactions of
one key, ``lock_keys=True`` lets them wait for each other (PostgreSQL; SQLite has one writer).
"""

from __future__ import annotations

import base64
import json
import uuid
import zlib
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    func,
    insert,
    select,
)

from headrace.model.errors import InvalidRequest
from headrace.patterns.conflict import raise_if_unsupported
from headrace.patterns.errors import PatternTablesMissing
from headrace.patterns.message_id import MESSAGE_ID_HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.orm import Session

OUTBOX_TABLE_NAME = "headrace_outbox"
VALUE_BYTES_MAX = 1_000_000  # what a broker takes by default, less the framing
KEY_LOCK_SPACE = 0x68726F62  # keeps our advisory locks apart from those of the application

TextOrBytes = str | bytes


def as_bytes(value: TextOrBytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def encode_headers(headers: Mapping[str, TextOrBytes] | None) -> str:
    """Headers as JSON text that any database can keep; values are bytes, so base64."""
    values = {name: as_bytes(value) or b"" for name, value in (headers or {}).items()}
    return json.dumps([[name, base64.b64encode(v).decode()] for name, v in values.items()])


def decode_headers(text: str) -> list[tuple[str, bytes]]:
    return [(name, base64.b64decode(value)) for name, value in json.loads(text)]


class Outbox:
    """The tables of an outbox in ``metadata``, and the way to add a message."""

    def __init__(
        self,
        metadata: MetaData,
        *,
        table_name: str = OUTBOX_TABLE_NAME,
        lock_keys: bool = False,
    ) -> None:
        self._lock_keys = lock_keys
        self.rows = Table(
            table_name,
            metadata,
            # SQLite gives the id of a deleted last row again unless it is told not to.
            Column(
                "id",
                BigInteger().with_variant(Integer, "sqlite"),
                primary_key=True,
                autoincrement=True,
            ),
            Column("topic", Text, nullable=False),
            Column("key", LargeBinary),
            Column("value", LargeBinary),
            Column("headers", Text, nullable=False),
            sqlite_autoincrement=True,
        )
        self.state = Table(
            f"{table_name}_state",
            metadata,
            Column("singleton", Integer, primary_key=True, autoincrement=False),
            Column("outbox_id", Text, nullable=False),
            Column("claim", Text),
        )

    @property
    def name(self) -> str:
        return self.rows.name

    def create_tables(self, engine: Engine) -> None:
        """Create what is missing and give the outbox its id. Migrations may do the first part."""
        raise_if_unsupported(engine.dialect.name)
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                # Two services that start at once would both try to create the tables.
                connection.execute(select(func.pg_advisory_xact_lock(KEY_LOCK_SPACE, 0)))
            for table in (self.rows, self.state):
                table.create(connection, checkfirst=True)
            if connection.execute(select(self.state.c.singleton)).first() is None:
                connection.execute(
                    insert(self.state).values(singleton=1, outbox_id=uuid.uuid4().hex)
                )

    def outbox_id(self, connection: Connection) -> str:
        """The id that makes row ids unique among all outboxes that write to a topic."""
        found = connection.execute(select(self.state.c.outbox_id)).scalar_one_or_none()
        if found is None:
            raise PatternTablesMissing(
                f"{self.state.name} is empty: call Outbox.create_tables(engine) once, "
                "also after migrations made the tables"
            )
        return str(found)

    def add(
        self,
        session: Session,
        topic: str,
        key: TextOrBytes | None,
        value: TextOrBytes | None,
        headers: Mapping[str, TextOrBytes] | None = None,
    ) -> int:
        """Add a message to the caller's transaction; returns the id of its row."""
        value_bytes = as_bytes(value)
        self._raise_if_unsendable(topic, value_bytes, headers)
        session.flush()  # the locks of the change come before the id: see above
        if self._lock_keys and session.get_bind().dialect.name == "postgresql":
            lock = zlib.crc32(topic.encode() + b"\0" + (as_bytes(key) or b"")) - (1 << 31)
            session.execute(select(func.pg_advisory_xact_lock(KEY_LOCK_SPACE, lock)))
        statement = insert(self.rows).values(
            topic=topic, key=as_bytes(key), value=value_bytes, headers=encode_headers(headers)
        )
        return int(session.execute(statement.returning(self.rows.c.id)).scalar_one())

    def _raise_if_unsendable(
        self,
        topic: str,
        value: bytes | None,
        headers: Mapping[str, TextOrBytes] | None,
    ) -> None:
        if not topic:
            raise InvalidRequest("the topic is empty: name the topic that the message goes to")
        if value is not None and len(value) > VALUE_BYTES_MAX:
            raise InvalidRequest(
                f"the value has {len(value)} bytes, more than {VALUE_BYTES_MAX}: store it "
                "elsewhere and send a reference"
            )
        if headers and MESSAGE_ID_HEADER in headers:
            raise InvalidRequest(f"the relay sets the header {MESSAGE_ID_HEADER}: leave it out")
