"""The relay as a process: ``python -m headrace.patterns.relay_main --database URL
--bootstrap-servers HOST:PORT``. SIGTERM and SIGINT end it cleanly."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from typing import TYPE_CHECKING

from sqlalchemy import MetaData, create_engine

from headrace.model.errors import HeadraceError
from headrace.patterns.outbox import OUTBOX_TABLE_NAME, Outbox
from headrace.patterns.relay import Relay

if TYPE_CHECKING:
    from collections.abc import Sequence


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m headrace.patterns.relay_main",
        description="Send the messages of an outbox table to the broker.",
    )
    parser.add_argument("--database", required=True, help="SQLAlchemy URL of the database")
    parser.add_argument("--bootstrap-servers", required=True, help="HOST:PORT of the broker")
    parser.add_argument("--table", default=OUTBOX_TABLE_NAME, help="name of the outbox table")
    parser.add_argument("--send-timeout-s", type=float, default=10.0, help="limit for one batch")
    parser.add_argument("--settle-s", type=float, default=1.0, help="wait before reading back")
    parser.add_argument("--poll-s", type=float, default=0.2, help="pause when there are no rows")
    parser.add_argument(
        "--client-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of confluent-kafka, such as security.protocol=SSL; may be repeated",
    )
    return parser.parse_args(arguments)


def client_config(options: argparse.Namespace) -> dict[str, object]:
    pairs = (option.partition("=") for option in options.client_option)
    return {
        "bootstrap.servers": options.bootstrap_servers,
        **{name: value for name, _, value in pairs},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """0 after a clean stop, 1 if a person has to do something (said on stderr)."""
    options = parse(sys.argv[1:] if arguments is None else arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    engine = create_engine(options.database)
    outbox = Outbox(MetaData(), table_name=options.table)
    relay = Relay(
        engine,
        outbox,
        client_config(options),
        send_timeout_s=options.send_timeout_s,
        settle_s=options.settle_s,
    )
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        outbox.create_tables(engine)
        relay.run(stop, poll_s=options.poll_s)
    except HeadraceError as failure:
        print(f"relay stopped: {failure.message}", file=sys.stderr)
        return 1
    finally:
        engine.dispose()
    return 0


if __name__ == "__main__":
    sys.exit(main())
