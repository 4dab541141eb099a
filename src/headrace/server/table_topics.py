"""Table topics: while any topic has a table, a process beside the broker keeps it up to date.

The broker knows no Spark: it starts ``headrace pipeline supervise`` and tells it, in one JSON line
per change, which topics want which tables. Everything else is that process's business.
"""

from __future__ import annotations

import json
import logging
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from headrace.broker.topics import TopicEvent
from headrace.config.broker_tables import NO_TABLE
from headrace.config.listeners import DEFAULT_PORTS, format_host
from headrace.server.table_process import TableProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.broker.broker import Broker
    from headrace.broker.topics import Topic, TopicChange
    from headrace.config.listeners import Listener
    from headrace.environment.ports import Background

log = logging.getLogger(__name__)

TABLES_MAX = 1_000
"""Jobs of one process; a topic beyond them waits, and the log says so."""


class TableTopics:
    """Watches the topics' settings, and starts, tells and ends the process."""

    def __init__(
        self,
        broker: Broker,
        background: Background,
        bootstrap: str | None,
        *,
        is_installed: Callable[[], bool] = lambda: find_spec("pyspark") is not None,
        program: Sequence[str] = (sys.executable, "-m", "headrace"),
    ) -> None:
        """``bootstrap``: where clients of this machine connect; None if they cannot."""
        self._broker = broker
        self._bootstrap = bootstrap
        self._is_installed = is_installed
        self._program = program
        self._process = TableProcess(self._command, background)
        self._topics: dict[str, Topic] = {}
        self._is_stopping = False

    @property
    def topic_count(self) -> int:
        return len(self._topics)

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    @property
    def restarts(self) -> int:
        return self._process.restarts

    def start(self) -> None:
        self._broker.topics.on_change(self._topic_changed)
        self._topics = {topic.name: topic for topic in self._broker.topics if _has_table(topic)}
        if self._topics:
            self._tell()

    async def stop(self) -> None:
        self._is_stopping = True
        await self._process.stop()

    def _topic_changed(self, change: TopicChange) -> None:
        if self._is_stopping:
            return
        name = change.topic.name
        wanted = change.event is not TopicEvent.DELETED and _has_table(change.topic)
        if not wanted and name not in self._topics:
            return
        if wanted:
            self._topics[name] = change.topic
        else:
            del self._topics[name]
        self._tell()

    def _tell(self) -> None:
        if not self._topics:
            self._process.rest()
            return
        problem = self._maybe_problem()
        if problem is not None:
            log.warning("%s is not kept as a table: %s", ", ".join(sorted(self._topics)), problem)
            return
        if len(self._topics) > TABLES_MAX:
            log.warning("%d topics want tables, %d get one", len(self._topics), TABLES_MAX)
        self._process.tell(_line(list(self._topics.values())[:TABLES_MAX]))

    def _maybe_problem(self) -> str | None:
        if not self._is_installed():
            return "pyspark is missing; install it with: pip install 'headrace[spark]'"
        if self._bootstrap is None:
            return (
                "every listener asks for a log-in or for TLS; say with which settings a client "
                "connects: headrace.table.client.config"
            )
        return None

    def _command(self) -> list[str]:
        config = self._broker.config
        command = [*self._program, "pipeline", "supervise", "--bootstrap", str(self._bootstrap)]
        if config.table_client_config is not None:
            command += ["--client-config", config.table_client_config]
        if config.table_spark_master is not None:
            command += ["--master", config.table_spark_master]
        return command


def local_bootstrap(
    listeners: Sequence[tuple[Listener, int]], *, has_client_config: bool
) -> str | None:
    """The address of the first listener where the process can connect; the ports are real ones.

    Without client settings it has no proof of who it is, and no certificates.
    """
    schemes = [scheme for scheme in DEFAULT_PORTS if scheme.startswith("kafka")]
    for scheme in schemes if has_client_config else ["kafka"]:
        for listener, port in listeners:
            if listener.scheme == scheme:
                host, port = listener.advertised(port)
                return f"{format_host(host)}:{port}"
    return None


def _has_table(topic: Topic) -> bool:
    return topic.config.table_format != NO_TABLE


def _line(topics: Sequence[Topic]) -> bytes:
    tables = [
        {
            "topic": topic.name,
            "format": topic.config.table_format,
            "location": topic.config.table_location,
            "schema": topic.config.table_schema,
        }
        for topic in topics
    ]
    return json.dumps({"tables": tables}).encode() + b"\n"
