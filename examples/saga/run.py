"""Starts a broker and the three services, places orders, kills services, and checks the end.

    python examples/saga/run.py --orders 60 --kills 10 --seed 1

Ends with 0 if every order is confirmed or cancelled and no goods, money or messages are amiss.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import order_service
from audit import message_violations
from service import SERVICES, open_database
from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session
from tables import accounts, orders, payments, reservations, shelves

from headrace.patterns import Outbox
from headrace.testing import Broker

if TYPE_CHECKING:
    from sqlalchemy import Engine

SHELF_START = 40
ACCOUNT_START_CENTS = 3_000
SKUS = ("tea", "coffee", "cocoa")
CUSTOMERS = ("ada", "bob", "cyd")
END_STATES = {"confirmed", "cancelled"}
CONVERGE_SECONDS_MAX = 120


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="An order saga that converges after kills.")
    parser.add_argument("--orders", type=int, default=60)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--between-seconds-max", type=float, default=2.0, help="between two kills")
    parser.add_argument("--database", help="SQLAlchemy URL with {service} in it; SQLite if absent")
    return parser.parse_args()


def prepare(engines: dict[str, Engine]) -> Outbox:
    """Tables, full shelves and full accounts; gives the outbox of the orders."""
    for name, service in SERVICES.items():
        service.METADATA.create_all(engines[name])
    with engines["stock"].begin() as connection:
        rows = [{"sku": sku, "available": SHELF_START} for sku in SKUS]
        connection.execute(insert(shelves), rows)
    with engines["payment"].begin() as connection:
        rows = [{"customer": name, "cents": ACCOUNT_START_CENTS} for name in CUSTOMERS]
        connection.execute(insert(accounts), rows)
    outbox = Outbox(SERVICES["orders"].METADATA)
    outbox.create_tables(engines["orders"])
    return outbox


def place_order(engine: Engine, outbox: Outbox, number: int, chance: random.Random) -> None:
    def emit(session: Session, event: str, order: dict[str, Any]) -> None:
        outbox.add(session, "orders", order["order_id"], json.dumps({**order, "event": event}))

    order = {
        "order_id": f"order-{number}",
        "sku": chance.choice(SKUS),
        "quantity": chance.randint(1, 4),
        "customer": chance.choice(CUSTOMERS),
        "cents": chance.randint(50, 400),
    }
    with Session(engine) as session, session.begin():
        order_service.place(session, order, emit)


class Processes:
    """The services as processes, each of which can be killed and started again."""

    def __init__(self, urls: dict[str, str], bootstrap_servers: str) -> None:
        self._urls = urls
        self._bootstrap_servers = bootstrap_servers
        self._running = {name: self._spawn(name) for name in urls}

    def _spawn(self, name: str) -> subprocess.Popen[bytes]:
        script = str(Path(__file__).with_name("service.py"))
        command = [sys.executable, script, name, self._urls[name], self._bootstrap_servers]
        return subprocess.Popen(command)

    def kill_and_restart(self, name: str) -> None:
        self._kill(name)
        self._running[name] = self._spawn(name)

    def raise_if_one_ended(self) -> None:
        for name, process in self._running.items():
            if process.poll() is not None:
                raise SystemExit(f"{name} ended by itself with {process.returncode}: see above")

    def stop(self) -> None:
        for name in self._running:
            self._kill(name)

    def _kill(self, name: str) -> None:
        self._running[name].kill()
        self._running[name].wait()


def wait_until_settled(engine: Engine, processes: Processes, count: int) -> None:
    deadline_s = time.monotonic() + CONVERGE_SECONDS_MAX
    settled = select(func.count()).select_from(orders).where(orders.c.state.in_(END_STATES))
    while time.monotonic() < deadline_s:
        processes.raise_if_one_ended()
        with engine.connect() as connection:
            if connection.execute(settled).scalar_one() == count:
                return
        time.sleep(0.2)


def violations(engines: dict[str, Engine]) -> list[str]:
    """What is amiss at the end, in words."""
    with engines["orders"].connect() as connection:
        rows = connection.execute(select(orders)).all()
    with engines["stock"].connect() as connection:
        available = dict(connection.execute(select(shelves.c.sku, shelves.c.available)).all())
        reserved = set(
            connection.execute(
                select(reservations.c.order_id).where(reservations.c.state == "reserved")
            ).scalars()
        )
    with engines["payment"].connect() as connection:
        cents = dict(connection.execute(select(accounts.c.customer, accounts.c.cents)).all())
        charged = set(
            connection.execute(
                select(payments.c.order_id).where(payments.c.state == "charged")
            ).scalars()
        )
    confirmed = [row for row in rows if row.state == "confirmed"]
    found = [f"{r.order_id} is still {r.state}" for r in rows if r.state not in END_STATES]
    ids = {row.order_id for row in confirmed}
    if ids != reserved or ids != charged:
        found.append("confirmed orders, reservations and payments are not the same orders")
    for sku in SKUS:
        sold = sum(row.quantity for row in confirmed if row.sku == sku)
        if available[sku] != SHELF_START - sold:
            found.append(f"{sku}: {available[sku]} left, but {sold} of {SHELF_START} were sold")
    for name in CUSTOMERS:
        spent = sum(row.cents for row in confirmed if row.customer == name)
        if cents[name] != ACCOUNT_START_CENTS - spent:
            found.append(f"{name}: {cents[name]} left, but {spent} were spent")
    return found


def print_table(engine: Engine) -> None:
    with engine.connect() as connection:
        rows = connection.execute(select(orders).order_by(orders.c.order_id)).all()
    print(f"{'order':<12}{'goods':<12}{'customer':<10}{'cents':>6}  state")
    for row in rows:
        goods = f"{row.quantity} {row.sku}"
        print(f"{row.order_id:<12}{goods:<12}{row.customer:<10}{row.cents:>6}  {row.state}")
    print(", ".join(f"{n} {s}" for s, n in sorted(Counter(r.state for r in rows).items())))


def main() -> int:
    options = parse()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="saga-") as directory, Broker() as broker:
        pattern = options.database or f"sqlite:///{directory}/{{service}}.db"
        urls = {name: pattern.format(service=name) for name in SERVICES}
        engines = {name: open_database(url) for name, url in urls.items()}
        outbox = prepare(engines)
        for topic in ("orders", "stock", "payment"):
            broker.create_topic(topic, partitions=2)
        processes = Processes(urls, broker.bootstrap_servers)
        try:
            kill_after = sorted(chance.randrange(options.orders) for _ in range(options.kills))
            for number in range(options.orders):
                place_order(engines["orders"], outbox, number, chance)
                for _ in range(kill_after.count(number)):
                    time.sleep(chance.uniform(0.2, options.between_seconds_max))
                    victim = chance.choice(sorted(urls))
                    print(f"kill -9 {victim}")
                    processes.kill_and_restart(victim)
            wait_until_settled(engines["orders"], processes, options.orders)
        finally:
            processes.stop()
        print_table(engines["orders"])
        found = violations(engines) + message_violations(broker.bootstrap_servers, engines)
        for engine in engines.values():
            engine.dispose()
    print("\n".join(found) or "all invariants hold")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
