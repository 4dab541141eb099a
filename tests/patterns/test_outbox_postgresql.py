"""The outbox on PostgreSQL: rows that commit late, several relays, and kill -9 at random moments.

HEADRACE_TEST_OUTBOX_KILLS says how often relay or service are killed (4 unless told).
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading

import pytest
from sqlalchemy import MetaData, func, insert, select
from sqlalchemy.orm import Session

from headrace.patterns import Outbox, Relay
from headrace.patterns.errors import RelayNotLeader
from tests.patterns.order_service import ACCOUNTS, accounts_table
from tests.patterns.reading import read_all

KILLS = int(os.environ.get("HEADRACE_TEST_OUTBOX_KILLS", "4"))
SEED = int(os.environ.get("HEADRACE_TEST_SEED", "1"))
BETWEEN_SECONDS_MAX = 0.3
PROGRESS_SECONDS_MAX = 60


def make_outbox(engine, name, **options):
    outbox = Outbox(MetaData(), table_name=name, **options)
    outbox.create_tables(engine)
    return outbox


def make_relay(engine, outbox, broker):
    config = {"bootstrap.servers": broker.bootstrap_servers}
    return Relay(engine, outbox, config, send_timeout_s=5, settle_s=0.2)


def test_row_that_commits_after_a_larger_id_is_sent_later_and_not_lost(engine, broker):
    outbox = make_outbox(engine, "late")
    topic = broker.create_topic("late")
    relay = make_relay(engine, outbox, broker)
    with Session(engine) as early, Session(engine) as late:
        first = outbox.add(late, topic, "a", "1")
        second = outbox.add(early, topic, "b", "2")
        assert first < second
        early.commit()
        assert relay.run_once() == 1
        late.commit()
    assert relay.run_once() == 1
    relay.close()
    assert read_all(broker.bootstrap_servers, topic) == [("b", "2"), ("a", "1")]


def test_one_of_two_relays_works_and_the_other_takes_over(engine, broker):
    outbox = make_outbox(engine, "two_relays")
    first, second = make_relay(engine, outbox, broker), make_relay(engine, outbox, broker)
    assert first.run_once() == 0
    with pytest.raises(RelayNotLeader):
        second.run_once()
    first.close()
    assert second.run_once() == 0
    second.close()


def test_locked_keys_make_transactions_of_one_key_wait_for_each_other(engine):
    outbox = make_outbox(engine, "locked", lock_keys=True)
    ids = []

    def second():
        with Session(engine) as session, session.begin():
            ids.append(outbox.add(session, "t", "k", "2"))

    with Session(engine) as session, session.begin():
        first = outbox.add(session, "t", "k", "1")
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        assert ids == [], "the second transaction did not wait"
    thread.join(10)
    assert ids == [first + 1]


def spawn(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def kill(process):
    assert process.poll() is None, f"{process.args[2]} ended by itself with {process.returncode}"
    process.send_signal(signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.timeout(120 + 20 * KILLS)
def test_every_committed_row_is_sent_once_through_kills_of_relay_and_service(
    engine, postgresql, broker
):
    name = f"kills_{SEED}"
    topic = broker.create_topic(name, partitions=3)
    outbox = make_outbox(engine, name)
    accounts = accounts_table(MetaData(), name)
    accounts.create(engine)
    with engine.begin() as connection:
        connection.execute(insert(accounts), [{"id": n, "version": 0} for n in range(ACCOUNTS)])
    chance = random.Random(SEED)
    never = threading.Event()
    relay_command = (
        *("headrace.patterns.relay_main", "--database", postgresql.url, "--table", name),
        *("--bootstrap-servers", broker.bootstrap_servers),
        *("--send-timeout-s", "0.3", "--settle-s", "0.2", "--poll-s", "0.01"),
    )
    commands = {
        "service": ("tests.patterns.order_service", postgresql.url, name, topic, SEED),
        "relay": relay_command,
        "relay that waits": relay_command,
    }
    running = {party: spawn(*command) for party, command in commands.items()}
    try:
        for _ in range(KILLS):
            await_progress(engine, accounts, outbox)
            never.wait(chance.uniform(0, BETWEEN_SECONDS_MAX))
            party = chance.choice(sorted(running))
            kill(running[party])
            running[party] = spawn(*commands[party])
        await_progress(engine, accounts, outbox)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    drain(engine, outbox, broker)
    judge(engine, accounts, read_all(broker.bootstrap_servers, topic))


def progress(engine, accounts, outbox):
    """How many changes were committed, and how many of their rows the relay has dealt with."""
    with engine.connect() as connection:
        committed = connection.execute(select(func.sum(accounts.c.version))).scalar_one()
        waiting = connection.execute(select(func.count()).select_from(outbox.rows)).scalar_one()
    return committed, committed - waiting


def await_progress(engine, accounts, outbox):
    """Killing what has not begun to work proves nothing: wait until both have done something."""
    never = threading.Event()
    before = progress(engine, accounts, outbox)
    for _ in range(PROGRESS_SECONDS_MAX * 20):
        now = progress(engine, accounts, outbox)
        if all(new > old for new, old in zip(now, before, strict=True)):
            return
        never.wait(0.05)
    raise AssertionError(f"no progress since {before} (committed, relayed): {now}")


def drain(engine, outbox, broker):
    """Wait until the killed relays' sessions are gone, then send what is left."""
    stop = threading.Event()
    relay = make_relay(engine, outbox, broker)
    thread = threading.Thread(target=relay.run, args=(stop,))
    thread.start()
    for _ in range(300):
        with engine.connect() as connection:
            left = connection.execute(select(func.count()).select_from(outbox.rows)).scalar_one()
        if not left:
            break
        stop.wait(0.1)
    stop.set()
    thread.join(30)
    assert not left, f"{left} rows were not sent"


def judge(engine, accounts, messages):
    with engine.connect() as connection:
        versions = dict(connection.execute(select(accounts.c.id, accounts.c.version)).all())
    assert sum(versions.values()) > 0
    for account, version in versions.items():
        got = [int(value) for key, value in messages if key == str(account)]
        assert got == list(range(1, version + 1)), f"account {account}: lost, twice or out of order"
