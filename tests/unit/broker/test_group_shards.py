"""One shard over a log on a simulated disk: damage, durability, foreign records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.groups.commands import FetchOffsets
from headrace.coordination.groups.record_codecs import group_key, offset_record
from headrace.coordination.groups.records import CommittedOffset
from headrace.coordination.shard import CoordinatorRecord
from headrace.model.topic import CONSUMER_OFFSETS_TOPIC, TopicPartition
from headrace.records.build import build_batch
from headrace.storage.log_port import Origin
from headrace.testing.group_door import GroupDoor

if TYPE_CHECKING:
    import pytest

T0 = TopicPartition("t", 0)
SHARE_GROUP_KEY = (10).to_bytes(2, "big") + b"\x00\x01g"


def write(door: GroupDoor, *records: CoordinatorRecord) -> None:
    """As another broker would have written them."""
    log = door.bench.logs.get(TopicPartition(CONSUMER_OFFSETS_TOPIC, 0))
    assert log is not None
    batch = build_batch(records, timestamp_ms=1)
    door.bench.logs.append([(log, batch)], origin=Origin.COORDINATOR)


def test_records_that_are_damaged_or_foreign_do_not_hide_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    door = GroupDoor({"offsets.topic.num.partitions": "1"})
    door.groups.prepare("g")
    write(
        door,
        CoordinatorRecord(group_key("damaged"), b"\x00\x09"),
        CoordinatorRecord(SHARE_GROUP_KEY, b"?"),
        offset_record("g", T0, CommittedOffset(5, -1, "", 1)),
    )
    caplog.set_level("INFO")
    door.restart()
    assert door.ask("g", FetchOffsets("g", [T0]))[0].offset == 5
    assert "left out a record" in caplog.text
    assert "left 1 records alone" in caplog.text
