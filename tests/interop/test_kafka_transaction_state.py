"""Our `__transaction_state` and our markers are Kafka's: its dump tool decodes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from .broker_process import BrokerProcess
from .kafka_tools import dump_log_segments, tools_missing
from .successors import topic_logs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.maven]

CALL_SECONDS = 20.0
STATE = re.compile(r'"transactionalId":"(\w+)".*?"transactionStatus":(\d)')
ONGOING, COMPLETE_COMMIT, COMPLETE_ABORT = 1, 4, 5


@pytest.fixture(autouse=True)
def _needs_maven() -> None:
    missing = tools_missing()
    if missing is not None:
        pytest.skip(missing)


def begun(servers: str, transactional_id: str) -> Producer:
    """A producer with one record in an open transaction."""
    settings = {"bootstrap.servers": servers, "transactional.id": transactional_id, "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(CALL_SECONDS)
    producer.begin_transaction()
    producer.produce("orders", b"value")
    assert producer.flush(CALL_SECONDS) == 0
    return producer


def test_dump_decodes_transactions_and_markers(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data")
    with broker:
        servers = broker.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic("orders", 1)])["orders"].result(CALL_SECONDS)
        begun(servers, "committed").commit_transaction(CALL_SECONDS)
        begun(servers, "aborted").abort_transaction(CALL_SECONDS)
        open_producer = begun(servers, "open")
        assert broker.terminate() == 0
        del open_producer
    internal = topic_logs(broker.directory, ".log", internal=True)
    files = [path for path in internal if path.parent.name.startswith("__transaction_state")]
    dump = dump_log_segments(files, "--deep-iteration", "--transaction-log-decoder")
    assert dump.faults == []
    last_states = {name: int(state) for name, state in STATE.findall(dump.text)}
    assert last_states == {
        "committed": COMPLETE_COMMIT,
        "aborted": COMPLETE_ABORT,
        "open": ONGOING,
    }
    data = dump_log_segments(topic_logs(broker.directory, ".log"), "--deep-iteration")
    assert data.faults == []
    assert data.text.count("endTxnMarker: COMMIT") == 1
    assert data.text.count("endTxnMarker: ABORT") == 1
