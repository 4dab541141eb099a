from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from headrace.pipeline.sink.errors import InvalidSinkOption
from headrace.pipeline.sink.options import (
    INLINE_BYTES,
    INLINE_BYTES_MAX,
    Delivery,
    SinkOptions,
    parse_options,
)

if TYPE_CHECKING:
    from pathlib import Path


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
    assert options.staging_url == "s3://b/c/headrace-staging"


def test_a_relative_place_is_the_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = parse(checkpointLocation="jobs/a")
    assert options.staging_url == f"{tmp_path}/jobs/a/headrace-staging"


def test_without_a_place_every_user_of_the_machine_has_another() -> None:
    assert parse().staging_url.endswith(f"/headrace-staging-{os.getuid()}")


def test_what_the_sink_does_anyway_may_be_asked_for() -> None:
    assert parse(kafka__enable__idempotence="true").kafka["enable.idempotence"] == "true"


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
        ({"kafka__enable__idempotence": "false"}, "cannot be switched off"),
        ({"kafka__bootstrap__servers": ""}, "which broker"),
    ],
)
def test_nonsense_is_refused(given: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidSinkOption, match=text):
        parse(**given)
