"""What the three services share: a consumer loop and an outbox relay in one process.

python examples/saga/service.py {orders,stock,payment} DATABASE_URL BOOTSTRAP_SERVERS
"""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import order_service
import payment_service
import stock_service
from sqlalchemy import Engine, create_engine

from headrace.patterns import ConsumerLoop, Outbox, Relay

if TYPE_CHECKING:
    from collections.abc import Callable

    from confluent_kafka import Message
    from sqlalchemy.orm import Session

SERVICES = {"orders": order_service, "stock": stock_service, "payment": payment_service}
BUSY_SECONDS_MAX = 30


def open_database(url: str) -> Engine:
    options = {"connect_args": {"timeout": BUSY_SECONDS_MAX}} if url.startswith("sqlite") else {}
    return create_engine(url, **options)


def handler_of(service: Any, outbox: Outbox) -> Callable[[Session, Message], None]:
    """Finds the service's function for the event that the message tells of."""

    def emit(session: Session, event: str, order: dict[str, Any]) -> None:
        text = json.dumps({**order, "event": event})
        outbox.add(session, service.TOPIC, order["order_id"], text)

    def handle(session: Session, message: Message) -> None:
        order = json.loads(message.value() or b"{}")
        step = service.STEPS.get(order.pop("event"))
        if step is not None:
            step(session, order, emit)

    return handle


def main() -> None:
    name, url, bootstrap_servers = sys.argv[1:]
    service = SERVICES[name]
    engine = open_database(url)
    outbox = Outbox(service.METADATA)
    service.METADATA.create_all(engine)
    outbox.create_tables(engine)
    config = {"bootstrap.servers": bootstrap_servers}
    stop = threading.Event()
    relay = Relay(engine, outbox, config, send_timeout_s=2.0, settle_s=0.2)
    threading.Thread(target=relay.run, args=(stop,), kwargs={"poll_s": 0.05}, daemon=True).start()
    # One process per service: whoever is started next takes its place without waiting.
    group = {**config, "group.id": name, "group.instance.id": name, "session.timeout.ms": 6_000}
    ConsumerLoop(group, service.READS, engine, handler_of(service, outbox)).run(stop)


if __name__ == "__main__":
    main()
