"""``headrace consume``: records to standard output or a file.

(Typer reads these annotations, so they are not postponed.)
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple

import typer

from headrace.cli.client import Broker, connect
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Timeout,
)
from headrace.cli.positions import Start, assign, end_offsets
from headrace.cli.progress import progress
from headrace.cli.reader import Limits, Reader
from headrace.cli.record_lines import json_line, text_line
from headrace.cli.times import parse_time_ms

NO_GROUP = "headrace-cli"
"""The library wants a name; without subscription and commits nothing of it reaches the broker."""


def consume(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Start at the oldest record.")
    ] = False,
    from_offset: Annotated[
        int | None,
        typer.Option("--from-offset", help="Start at this offset; -N: N before the end."),
    ] = None,
    from_time: Annotated[
        str | None,
        typer.Option("--from-time", metavar="TIME", help="Start at 2026-01-31T12:00Z, or -15m."),
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="Join this group and commit offsets.")
    ] = None,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", min=0, help="Only this partition.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Stop after so many records.")
    ] = None,
    at_end: Annotated[
        bool, typer.Option("--at-end", "-e", help="Stop at what is the end now.")
    ] = False,
    idle: Annotated[
        float | None, typer.Option("--idle", min=0.1, help="Stop after so many quiet seconds.")
    ] = None,
    keys: Annotated[bool, typer.Option("--keys", help="Print keys before values.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Print headers first.")] = False,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Write to this file, with a progress bar.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006 - typer copies it
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per line.")
    ] = False,
) -> None:
    """Receive records, from the end of the topic unless told otherwise, until Ctrl-C.

    \b
    headrace consume greetings --from-beginning --count 1
    headrace consume orders --from-time -15m --json
    headrace consume orders --group billing --keys
    headrace consume orders --from-beginning --at-end --json --file orders.jsonl
    """
    start = _start(from_beginning, from_offset, from_time)
    _raise_if_contradictory(group, start, partition, at_end)
    broker = connect(bootstrap, client, timeout)
    consumer = broker.consumer(_consumer_settings(group, start))
    line_format = LineFormat(as_json, keys, headers)
    try:
        places = _partitions(broker, consumer, topic, partition)
        ends = end_offsets(broker, consumer, topic, places) if at_end else None
        if group is None:
            assign(broker, consumer, topic, places, start)
        else:
            consumer.subscribe([topic])
        _copy(broker, consumer, Limits(count, ends, idle), file, line_format)
    finally:
        consumer.close()


class LineFormat(NamedTuple):
    """How a record is printed."""

    as_json: bool
    keys: bool
    headers: bool

    def line(self, message: Any) -> bytes:
        headers = message.headers() or []
        if not self.as_json:
            return text_line(
                key=message.key(),
                value=message.value(),
                headers=headers,
                with_key=self.keys,
                with_headers=self.headers,
            )
        line = json_line(
            topic=message.topic(),
            partition=message.partition(),
            offset=message.offset(),
            timestamp_ms=message.timestamp()[1],
            key=message.key(),
            value=message.value(),
            headers=headers,
        )
        return line.encode("utf-8", "surrogatepass") + b"\n"


def _copy(
    broker: Broker, consumer: Any, limits: Limits, file: Path | None, line_format: LineFormat
) -> None:
    with (
        _destination(file) as stream,
        progress("records", limits.records, wanted=file is not None) as advance,
    ):
        for message in Reader(broker, consumer, limits, stream.flush).messages():
            stream.write(line_format.line(message))
            consumer.store_offsets(message=message)
            advance(1)


def _start(from_beginning: bool, from_offset: int | None, from_time: str | None) -> Start:
    if from_beginning + (from_offset is not None) + (from_time is not None) > 1:
        raise Failure("pass one of --from-beginning, --from-offset, --from-time", ExitCode.USAGE)
    if from_time is not None:
        return Start(time_ms=parse_time_ms(from_time, int(time.time() * 1_000)))
    return Start(offset=from_offset, is_beginning=from_beginning)


def _raise_if_contradictory(
    group: str | None, start: Start, partition: list[int] | None, at_end: bool
) -> None:
    if group is None:
        return
    if start.offset is not None or start.time_ms is not None:
        raise Failure(
            "a group begins where it was: use 'headrace group reset-offsets' to move it",
            ExitCode.USAGE,
        )
    if partition:
        raise Failure(
            "a group shares out the partitions itself: leave out --partition", ExitCode.USAGE
        )
    if at_end:
        raise Failure("with --group, use --count or --idle to stop", ExitCode.USAGE)


def _consumer_settings(group: str | None, start: Start) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "auto.offset.reset": "earliest" if start.is_beginning else "latest",
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
    }
    if group is None:
        return settings | {"group.id": NO_GROUP, "enable.auto.commit": False}
    return settings | {"group.id": group, "enable.auto.commit": True}


def _partitions(broker: Broker, consumer: Any, topic: str, wanted: list[int] | None) -> list[int]:
    found = sorted(broker.metadata(consumer, topic).topics[topic].partitions)
    for index in wanted or ():
        if index not in found:
            raise Failure(f"topic {topic} has no partition {index}", ExitCode.NOT_FOUND)
    return sorted(set(wanted)) if wanted else found


@contextmanager
def _destination(file: Path | None) -> Iterator[BinaryIO]:
    if file is None:
        try:
            yield sys.stdout.buffer
        except BrokenPipeError:
            # Whoever reads has had enough, as head does. What is buffered still must go somewhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    try:
        with file.open("wb") as opened:
            yield opened
    except OSError as error:
        raise Failure(f"cannot write {file}: {error.strerror}") from error
