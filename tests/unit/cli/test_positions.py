"""Where a consumer begins."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END

from headrace.cli.client import Broker
from headrace.cli.exit_codes import Failure
from headrace.cli.positions import Start, assign, end_offsets

BROKER = Broker("127.0.0.1:1", [], 0.5)


def assigned(start: Start, watermarks: tuple[int, int] = (10, 20)) -> list[int]:
    seen: list[int] = []
    consumer = SimpleNamespace(
        assign=lambda places: seen.extend(place.offset for place in places),
        get_watermark_offsets=lambda place, timeout: watermarks,
        offsets_for_times=lambda places, timeout: places,
    )
    assign(BROKER, consumer, "t", [0], start)
    return seen


@pytest.mark.parametrize(
    ("start", "offset"),
    [
        (Start(), OFFSET_END),
        (Start(is_beginning=True), OFFSET_BEGINNING),
        (Start(offset=15), 15),
        (Start(offset=-3), 17),
        (Start(offset=-300), 10),
        (Start(time_ms=1234), 1234),
    ],
)
def test_start(start: Start, offset: int) -> None:
    assert assigned(start) == [offset]


def test_ends_are_the_high_watermarks() -> None:
    consumer = SimpleNamespace(get_watermark_offsets=lambda place, timeout: (1, place.partition))
    assert end_offsets(BROKER, consumer, "t", [3, 4]) == {3: 3, 4: 4}


def test_watermarks_that_do_not_come_are_no_connection() -> None:
    consumer = SimpleNamespace(get_watermark_offsets=lambda place, timeout: None)
    with pytest.raises(Failure, match="no broker answers"):
        end_offsets(BROKER, consumer, "t", [0])
