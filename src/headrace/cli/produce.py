"""``headrace produce``: records from arguments, a file or standard input.

(Typer reads these annotations, so they are not postponed.)
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from headrace.cli import output
from headrace.cli.assignments import parse_assignments
from headrace.cli.client import Broker, connect
from headrace.cli.exit_codes import ExitCode, Failure
from headrace.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMEOUT_SECONDS,
    Bootstrap,
    ClientSettings,
    Json,
    Timeout,
)
from headrace.cli.progress import progress
from headrace.cli.record_lines import (
    LINE_BYTES_MAX,
    OutgoingRecord,
    parse_json_line,
    parse_text_line,
)

FLUSH_SECONDS_MAX = 300.0


class Input(StrEnum):
    """How lines are read."""

    TEXT = "text"
    JSON = "json"


class Compression(StrEnum):
    """How the client compresses batches."""

    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


def produce(
    topic: Annotated[str, typer.Argument(help="The topic.")],
    values: Annotated[
        list[str] | None, typer.Argument(help="Values; without them, lines of standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Read lines from this file.")
    ] = None,
    input_format: Annotated[
        Input, typer.Option("--input", "-i", help="Lines of text, or JSON objects.")
    ] = Input.TEXT,
    key: Annotated[str | None, typer.Option("--key", "-k", help="The key of all records.")] = None,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", help="Lines are KEY, this, VALUE.")
    ] = None,
    header: Annotated[
        list[str], typer.Option("--header", "-H", metavar="NAME=VALUE", help="A header.")
    ] = [],  # noqa: B006 - typer copies it
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, help="The partition.")
    ] = None,
    compression: Annotated[Compression, typer.Option("--compression")] = Compression.NONE,
    acks: Annotated[str, typer.Option("--acks", metavar="all|1|0")] = "all",
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientSettings = [],  # noqa: B006
    timeout: Timeout = DEFAULT_TIMEOUT_SECONDS,
    as_json: Json = False,
) -> None:
    """Send records.

    \b
    headrace produce greetings hello
    headrace produce orders --key 42 --header source=web '{"total": 9}'
    headrace produce orders --file orders.txt --key-separator :
    headrace consume a --from-beginning --at-end --json | headrace produce b --input json
    """
    if values and file is not None:
        raise Failure("pass values or --file, not both", ExitCode.USAGE)
    broker = connect(bootstrap, client, timeout)
    producer = broker.producer({"acks": acks, "compression.type": compression.value})
    _raise_if_partition_absent(broker, producer, topic, partition)
    defaults = OutgoingRecord(
        None if key is None else key.encode(),
        None,
        tuple(
            (name, text.encode()) for name, text in parse_assignments(header, "--header").items()
        ),
        -1 if partition is None else partition,
    )
    sender = Sender(broker, producer, topic)
    with (
        _lines(values, file) as (lines, size_bytes),
        progress("sent bytes", size_bytes, wanted=file is not None) as advance,
    ):
        for number, line in enumerate(lines, 1):
            record = _parse(line, number, input_format, key_separator)
            sender.send(_with_defaults(record, defaults))
            advance(len(line))
        sender.finish()
    _report(topic, sender, as_json=as_json)


class Sender:
    """Sends records and counts what became of them; the first refusal ends the verb."""

    def __init__(self, broker: Broker, producer: Any, topic: str) -> None:
        self._broker = broker
        self._producer = producer
        self._topic = topic
        self._error: Any = None
        self.acknowledged = 0
        self.last_offsets: dict[int, int] = {}

    def send(self, record: OutgoingRecord) -> None:
        more = {} if record.timestamp_ms is None else {"timestamp": record.timestamp_ms}
        with self._broker.errors(f"topic {self._topic}"):
            while True:
                try:
                    self._producer.produce(
                        self._topic,
                        record.value,
                        record.key,
                        record.partition,
                        self._on_delivery,
                        headers=list(record.headers) or None,
                        **more,
                    )
                    break
                except BufferError:
                    # The library's queue is full: let it work off some of it.
                    self._producer.poll(0.1)
                    self._raise_if_failed()
        self._producer.poll(0)
        self._raise_if_failed()

    def finish(self) -> None:
        """Wait until everything is acknowledged."""
        left = self._producer.flush(max(self._broker.timeout_seconds, FLUSH_SECONDS_MAX))
        self._raise_if_failed()
        if left:
            raise Failure(f"{left} records were not acknowledged in time")

    def _on_delivery(self, error: Any, message: Any) -> None:
        if error is not None:
            self._error = self._error or error
            return
        self.acknowledged += 1
        offset = message.offset()
        if offset is not None and offset >= 0:  # acks=0 brings no offset back
            self.last_offsets[message.partition()] = offset

    def _raise_if_failed(self) -> None:
        if self._error is not None:
            raise self._broker.failure(self._error, f"topic {self._topic}")


@contextmanager
def _lines(
    values: list[str] | None, file: Path | None
) -> Iterator[tuple[Iterator[bytes], int | None]]:
    if values:
        yield iter([value.encode() for value in values]), None
    elif file is None:
        if sys.stdin.isatty():
            output.note("type records, one per line; end with Ctrl-D")
        yield _bounded_lines(sys.stdin.buffer), None
    else:
        try:
            with file.open("rb") as opened:
                yield _bounded_lines(opened), file.stat().st_size
        except OSError as error:
            raise Failure(f"cannot read {file}: {error.strerror}", ExitCode.NOT_FOUND) from error


def _bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    while line := stream.readline(LINE_BYTES_MAX + 1):
        if len(line) > LINE_BYTES_MAX:
            raise Failure(f"a line is longer than {LINE_BYTES_MAX} bytes", ExitCode.USAGE)
        yield line


def _parse(
    line: bytes, number: int, input_format: Input, key_separator: str | None
) -> OutgoingRecord:
    if input_format is Input.JSON:
        return parse_json_line(line, number)
    return parse_text_line(line, key_separator)


def _with_defaults(record: OutgoingRecord, defaults: OutgoingRecord) -> OutgoingRecord:
    """What the line does not say comes from the flags; headers of both are sent."""
    return record._replace(
        key=defaults.key if record.key is None else record.key,
        headers=defaults.headers + record.headers,
        partition=record.partition if record.partition >= 0 else defaults.partition,
    )


def _raise_if_partition_absent(
    broker: Broker, producer: Any, topic: str, partition: int | None
) -> None:
    # Metadata of all topics, since asking for one that does not exist may create it.
    topics = broker.metadata(producer).topics
    if topic in topics and partition is not None and partition not in topics[topic].partitions:
        raise Failure(f"topic {topic} has no partition {partition}", ExitCode.NOT_FOUND)


def _report(topic: str, sender: Sender, *, as_json: bool) -> None:
    if as_json:
        last = {str(partition): offset for partition, offset in sorted(sender.last_offsets.items())}
        result = {"topic": topic, "records": sender.acknowledged, "last_offsets": last}
        output.print_json(result)
    else:
        places = ", ".join(f"{topic}-{p}@{o}" for p, o in sorted(sender.last_offsets.items()))
        print(f"sent {sender.acknowledged} records; last at {places or 'nowhere'}")
