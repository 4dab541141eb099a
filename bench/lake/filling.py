"""Topics with exactly so many records, filled as fast as a broker takes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bench.load.closed_loop import Load, run_load
from bench.load.frames import ProduceFrames
from bench.topics import create_topic, raise_if_missing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.lake.shapes import TopicContent
    from bench.load.closed_loop import Target
    from bench.peers import Peer

CONNECTIONS = 4
FILL_SECONDS_MAX = 900.0


def make_topic(peer: Peer, content: TopicContent, batches: Sequence[bytes]) -> None:
    """A new topic with this content, written back to the disk."""
    create_topic(peer, content.topic, content.partitions)
    add_records(peer, content, batches, content.records)


def add_records(peer: Peer, content: TopicContent, batches: Sequence[bytes], records: int) -> None:
    """So many more, after which the topic holds all of its content."""
    requests = records // content.shape.batch_records
    targets = targets_of(content, batches)
    load = Load(targets, CONNECTIONS, FILL_SECONDS_MAX, requests_max=requests)
    taken = run_load(peer.bootstrap_servers, load).requests
    if taken < requests:
        raise TimeoutError(f"{peer.name} took {taken} of {requests} batches of {content.topic}")
    raise_if_missing(peer, content.topic, content.partitions, content.records)
    os.sync()  # what is measured next must not wait for this to be written


def targets_of(content: TopicContent, batches: Sequence[bytes]) -> list[Target]:
    """Each batch to every partition in turn: after a whole turn all have got the same."""
    frames = [ProduceFrames(content.topic, batch) for batch in batches]
    return [(frame, partition) for frame in frames for partition in range(content.partitions)]
