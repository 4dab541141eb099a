"""Producing and reading records: codecs, bytes, timestamps, positions."""

from __future__ import annotations

import time
from functools import partial

from ..values import CODECS, ConsumerSettings, Received, Record
from .declare import SCENARIOS, Scenario, ScenarioRun, numbered, read, scenario, values

ALL_BYTES = bytes(range(256))
BASE_TIMESTAMP_MS = 1_700_000_000_000
CLOCK_SLACK_MS = 60_000
# Records with old timestamps would be deleted by the first pass of retention.
KEEP_FOREVER = {"retention.ms": "-1"}


def corpus(with_timestamps: bool) -> list[Record]:
    """Records that a careless broker or codec damages: nulls, empties, every byte, repetition.

    All of them compress well, as some clients send what does not shrink uncompressed.
    """
    stamp = BASE_TIMESTAMP_MS if with_timestamps else None
    stamps = [None if stamp is None else stamp + step for step in (0, 1, 1, 5_000, 2, 7)]
    bodies: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
        (b"plain " * 40, b"key", ()),
        (ALL_BYTES * 8, b"\x01\xff\xfe\x80 key", (("a", b"1"), ("a", b"2"), ("b", b"\xff\xfe"))),
        (b"x" * 20_000, None, (("empty", b""),)),
        (b"no key " * 50, b"k" * 200, (("schlüssel", "größe".encode()),)),
        ("数据 ".encode() * 60, "键".encode(), ()),
        (None, b"tombstone", ()),
    ]
    return [
        Record(value, key, headers, timestamp_ms)
        for (value, key, headers), timestamp_ms in zip(bodies, stamps, strict=True)
    ]


def assert_same(sent: list[Record], received: list[Received], offsets: list[int]) -> None:
    """Byte for byte, in order, at the acknowledged offsets; unset timestamps are about now."""
    assert [item.offset for item in received] == offsets
    now_ms = int(time.time() * 1000)
    for expected, item in zip(sent, received, strict=True):
        got = item.record
        assert (got.key, got.value, got.headers) == (
            expected.key,
            expected.value,
            expected.headers,
        )
        if expected.timestamp_ms is not None:
            assert got.timestamp_ms == expected.timestamp_ms
        else:
            assert got.timestamp_ms is not None
            assert abs(got.timestamp_ms - now_ms) < CLOCK_SLACK_MS


def _produce_and_consume(codec: str, run: ScenarioRun) -> None:
    topic = run.new_topic(f"codec-{codec}", configs=KEEP_FOREVER)
    sent = corpus(run.can_set_timestamp)
    offsets = run.client.produce(topic, sent, codec)
    assert offsets == list(range(len(sent)))
    assert_same(sent, run.read_partition(topic, len(sent)), offsets)


for _codec in CODECS:
    _name = f"produce_and_consume_{_codec}"
    SCENARIOS[_name] = Scenario(_name, partial(_produce_and_consume, _codec), (f"codec-{_codec}",))


@scenario("idempotent")
def idempotent_producer_keeps_order(run: ScenarioRun) -> None:
    topic = run.new_topic("idempotent", partitions=3)
    sent = numbered(30, partitions=3)
    offsets = run.client.produce(topic, sent, idempotent=True)
    for partition in range(3):
        of_partition = [item for item in sent if item.partition == partition]
        found = run.read_partition(topic, len(of_partition), partition)
        assert values(found) == [item.value for item in of_partition]
    assert sorted(offsets) == sorted(list(range(10)) * 3)


@scenario()
def producing_to_a_new_topic_creates_it(run: ScenarioRun) -> None:
    topic = run.name("auto-created")
    run.client.produce(topic, numbered(3))
    assert values(run.read_partition(topic, 3)) == [item.value for item in numbered(3)]


@scenario("seek", "set-timestamp")
def seek_by_time(run: ScenarioRun) -> None:
    topic = run.new_topic("by-time", configs=KEEP_FOREVER)
    stamps = [BASE_TIMESTAMP_MS + step * 1_000 for step in range(10)]
    run.client.produce(topic, [Record(str(s).encode(), timestamp_ms=s) for s in stamps])
    consumer = run.open(ConsumerSettings(assign=((topic, 0),)))
    read(consumer, 10)
    assert consumer.offset_for_time(topic, 0, stamps[4]) == 4
    assert consumer.offset_for_time(topic, 0, stamps[4] + 1) == 5
    assert consumer.offset_for_time(topic, 0, stamps[0] - 1) == 0
    assert consumer.offset_for_time(topic, 0, stamps[9] + 1) is None
    consumer.seek(topic, 0, 5)
    assert [item.offset for item in read(consumer, 5)] == [5, 6, 7, 8, 9]


@scenario("seek")
def seek_by_the_time_of_the_broker(run: ScenarioRun) -> None:
    topic = run.new_topic("by-append-time", configs={"message.timestamp.type": "LogAppendTime"})
    for number in range(3):
        run.client.produce(topic, numbered(1, word=f"round-{number}"))
    stamps = [item.record.timestamp_ms for item in run.read_partition(topic, 3)]
    assert None not in stamps
    assert stamps == sorted(stamps, key=lambda stamp: stamp or 0)
    consumer = run.open(ConsumerSettings(assign=((topic, 0),)))
    read(consumer, 3)
    expected = stamps.index(stamps[2])
    assert consumer.offset_for_time(topic, 0, stamps[2] or 0) == expected
    consumer.seek(topic, 0, expected)
    assert values(read(consumer, 3 - expected))[-1] == b"round-2-0"
