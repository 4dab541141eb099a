"""Members of a consumer group, watched until their assignment has settled.

All members of one `Membership` are librdkafka consumers of this process, polled in turn. A member
that is to be killed runs as a process of its own:

    python -m bench.load.members ADDRESS GROUP TOPIC

It prints `assigned` when it was first given partitions, and polls until it is killed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future

SESSION_TIMEOUT_MS = 6_000
"""The least that brokers accept by default."""
HEARTBEAT_MS = 100
"""Members learn of a rebalance by their next heartbeat: often, so that the broker is measured."""
SETTLE_SECONDS = 1.0
"""An assignment is settled if it stays like this for so long; the time itself is not counted."""
SETTLED_SECONDS_MAX = 60.0
POLL_PAUSE_SECONDS = 0.001
CHILD_POLL_SECONDS = 0.1
ASSIGNED = "assigned"


def consumer_settings(address: str, group: str) -> dict[str, object]:
    return {
        "bootstrap.servers": address,
        "group.id": group,
        "group.protocol": "classic",
        "partition.assignment.strategy": "range",
        "session.timeout.ms": SESSION_TIMEOUT_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "enable.auto.commit": False,
        "auto.offset.reset": "latest",
    }


class NotSettled(RuntimeError):
    """The group did not come to rest."""


class Member:
    """One consumer, and which partitions it has now."""

    def __init__(self, membership: Membership) -> None:
        self.partitions: frozenset[int] = frozenset()
        self._membership = membership
        self.consumer = Consumer(consumer_settings(membership.address, membership.group))
        self.consumer.subscribe(
            [membership.topic],
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._revoked,
        )

    def _assigned(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._now_has(frozenset(p.partition for p in partitions))

    def _revoked(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._now_has(frozenset())

    def _now_has(self, partitions: frozenset[int]) -> None:
        self.partitions = partitions
        self._membership.changed_s = time.perf_counter()


def is_complete(owned: list[frozenset[int]], partitions: int) -> bool:
    """Whether every partition has one owner and every member has some."""
    count = sum(len(part) for part in owned)
    return all(owned) and count == partitions and len(frozenset().union(*owned)) == partitions


class Membership:
    """A group over all partitions of one topic."""

    def __init__(self, address: str, group: str, topic: str, partitions: int) -> None:
        self.address = address
        self.group = group
        self.topic = topic
        self.changed_s = 0.0
        self._partitions = partitions
        self._members: list[Member] = []

    def join(self, count: int) -> None:
        self._members += [Member(self) for _ in range(count)]

    def leave(self, executor: ThreadPoolExecutor) -> Future[None]:
        """The first member closes, in a thread: the others must go on polling meanwhile."""
        return executor.submit(self._members.pop(0).consumer.close)

    def seconds_to_settle(self, *, from_s: float, others: int = 0) -> float:
        """From `from_s` to the last change of the assignment.

        With `others` members in processes of their own this one's partitions cannot be complete.
        """
        deadline_s = time.perf_counter() + SETTLED_SECONDS_MAX
        while True:
            self._poll()
            now_s = time.perf_counter()
            if now_s > deadline_s:
                raise NotSettled(f"group {self.group}: not within {SETTLED_SECONDS_MAX:g} s")
            quiet_s = now_s - max(self.changed_s, from_s)
            if quiet_s < SETTLE_SECONDS or self.changed_s < from_s:
                continue
            owned = [member.partitions for member in self._members]
            if others or is_complete(owned, self._partitions):
                return self.changed_s - from_s

    def poll_until(self, process_line: ThreadPoolExecutor, child: subprocess.Popen[str]) -> None:
        """Keep the members alive until the child says that it was given partitions."""
        assert child.stdout is not None
        line = process_line.submit(child.stdout.readline)
        deadline_s = time.perf_counter() + SETTLED_SECONDS_MAX
        while not line.done():
            self._poll()
            if time.perf_counter() > deadline_s:
                raise NotSettled(f"group {self.group}: the member of its own was given nothing")
        if line.result().strip() != ASSIGNED:
            raise NotSettled(f"group {self.group}: the member of its own ended")

    def close(self) -> None:
        with ThreadPoolExecutor(max(1, len(self._members))) as executor:
            list(executor.map(lambda member: member.consumer.close(), self._members))
        self._members.clear()

    def _poll(self) -> None:
        for member in self._members:
            message = member.consumer.poll(0)
            if message is not None and message.error() is not None:
                raise KafkaException(message.error())
        time.sleep(POLL_PAUSE_SECONDS)


@contextmanager
def member_process(address: str, group: str, topic: str) -> Iterator[subprocess.Popen[str]]:
    """A member that can be killed; it is gone when the block ends."""
    command = [sys.executable, "-m", "bench.load.members", address, group, topic]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("address", "group", "topic"):
        parser.add_argument(name)
    options = parser.parse_args()
    consumer = Consumer(consumer_settings(options.address, options.group))
    consumer.subscribe([options.topic], on_assign=lambda *_: print(ASSIGNED, flush=True))
    while True:
        consumer.poll(CHILD_POLL_SECONDS)


if __name__ == "__main__":
    main()
