from __future__ import annotations

import pytest

from headrace.pipeline.sink.errors import InvalidSinkOption
from headrace.pipeline.sink.options import (
    INLINE_BYTES,
    INLINE_BYTES_MAX,
    Delivery,
    SinkOptions,
    parse_options,
)


def parse(**given: str) -> SinkOptions:
    options = {name.replace("__", "."): value for name, value in given.items()}
    return parse_options(
        {"kafka.bootstrap.servers": "localhost:1", **options}, Delivery.EXACTLY_ONCE
    )


def test_defaults() -> None:
    options = parse()
    assert options.kafka == {"bootstrap.servers": "localhost:1"}
    assert options.topic is None
    assert options.delivery is Delivery.EXACTLY_ONCE
    assert options.inline_bytes == INLINE_BYTES
    assert options.sink_id is None
    assert options.batch_id == 0


def test_delivery_is_chosen_by_option() -> None:
    assert parse(headrace__delivery="at-least-once").delivery is Delivery.AT_LEAST_ONCE


def test_names_are_taken_in_any_case() -> None:
    assert parse(Headrace__Delivery="at-least-once", TOPIC="t").topic == "t"


def test_rows_are_staged_beside_the_checkpoint() -> None:
    assert parse(checkpointLocation="/jobs/a").staging_url == "/jobs/a/headrace-staging"


def test_staging_location_is_stronger_than_the_checkpoint() -> None:
    options = parse(checkpointLocation="/jobs/a", headrace__staging__location="s3://b/c")
    assert options.staging_url == "s3://b/c"


def test_options_of_the_source_are_not_refused() -> None:
    assert parse(headrace__read__path="auto").topic is None


def test_batch_with_an_identity() -> None:
    options = parse(headrace__sink__id="nightly", headrace__batch__id="7")
    assert (options.sink_id, options.batch_id) == ("nightly", 7)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"headrace__delivery": "at-most-once"}, "exactly-once or at-least-once"),
        ({"headrace__deliveries": "x"}, "there is no option headrace.deliveries"),
        ({"headrace__staging__inline__bytes": "-1"}, "must be a number"),
        ({"headrace__staging__inline__bytes": str(INLINE_BYTES_MAX + 1)}, "must be a number"),
        ({"headrace__sink__id": "a"}, "go together"),
        ({"headrace__batch__id": "1"}, "go together"),
        ({"headrace__sink__id": "", "headrace__batch__id": "1"}, "characters"),
        (
            {
                "headrace__sink__id": "a",
                "headrace__batch__id": "1",
                "headrace__delivery": "at-least-once",
            },
            "needs headrace.delivery=exactly-once",
        ),
        ({"kafka__transactional__id": "x"}, "the sink's own business"),
        ({"kafka__bootstrap__servers": ""}, "which broker"),
    ],
)
def test_nonsense_is_refused(given: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidSinkOption, match=text):
        parse(**given)
