from __future__ import annotations

import logging

import pytest

from headrace.model.topic import TopicPartition
from headrace.pipeline.source.bounds import (
    EARLIEST,
    LATEST,
    AtOffsets,
    AtOneTimestamp,
    AtTimestamps,
    Everywhere,
)
from headrace.pipeline.source.errors import InvalidSourceOption
from headrace.pipeline.source.options import Selection, parse_options, wants_headers

from .fake_view import BROKER, options_of

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def test_the_defaults_of_a_batch_are_those_of_sparks_kafka_source():
    options = options_of({"subscribe": "t"}, is_streaming=False)
    assert options.starting == Everywhere(EARLIEST)
    assert options.ending == Everywhere(LATEST)
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert not options.is_committed
    assert not options.is_latest_if_none_newer
    assert options.max_trigger_delay_ms == 15 * 60_000
    assert (options.read_path, options.storage_url) == ("auto", None)


def test_a_stream_starts_at_the_latest_offset_by_default():
    assert options_of({"subscribe": "t"}, is_streaming=True).starting == Everywhere(LATEST)


@pytest.mark.parametrize("spelling", ["startingOffsets", "startingoffsets", "STARTINGOFFSETS"])
def test_the_case_of_a_name_does_not_matter(spelling):
    options = options_of({"subscribe": "t", spelling: " Earliest "}, is_streaming=True)
    assert options.starting == Everywhere(EARLIEST)


def test_kafka_options_lose_their_prefix():
    options = options_of({"subscribe": "t", "kafka.security.protocol": "SSL"}, is_streaming=False)
    assert options.kafka == {"bootstrap.servers": "localhost:9092", "security.protocol": "SSL"}


def test_secrets_are_not_shown():
    options = options_of({"subscribe": "t", "kafka.sasl.password": "s3cret"}, is_streaming=False)
    assert "s3cret" not in repr(options)


@pytest.mark.parametrize(
    ("given", "selection"),
    [
        ({"subscribe": "a, b,a"}, Selection(topics=("a", "b"))),
        ({"subscribePattern": "a.*"}, Selection(pattern="a.*")),
        ({"assign": '{"t": [1, 0]}'}, Selection(assigned=(T0, T1))),
    ],
)
def test_each_way_to_select(given, selection):
    assert options_of(given, is_streaming=False).selection == selection


@pytest.mark.parametrize(
    ("given", "starting"),
    [
        ({"startingOffsets": '{"t": {"0": 5, "1": -2}}'}, AtOffsets({T0: 5, T1: EARLIEST})),
        ({"startingOffsetsByTimestamp": '{"t": {"0": 7}}'}, AtTimestamps({T0: 7})),
        ({"startingTimestamp": "9", "startingOffsets": "earliest"}, AtOneTimestamp(9)),
        (
            {"startingTimestamp": "9", "startingOffsetsByTimestamp": '{"t": {"0": 7}}'},
            AtOneTimestamp(9),
        ),
        ({"startingOffsets": '{"@cluster": "x", "t": {"0": 5}}'}, AtOffsets({T0: 5})),
    ],
)
def test_each_way_to_start(given, starting):
    options = options_of({"subscribe": "t", **given}, is_streaming=False)
    assert options.starting == starting


def test_every_other_option_arrives():
    options = options_of(
        {
            "subscribe": "t",
            "endingTimestamp": "11",
            "startingOffsetsByTimestampStrategy": "LATEST",
            "failOnDataLoss": "False",
            "includeHeaders": "true",
            "kafka.isolation.level": "read_committed",
            "maxOffsetsPerTrigger": "100",
            "minOffsetsPerTrigger": "10",
            "maxTriggerDelay": "90s",
            "minPartitions": "4",
            "maxRecordsPerPartition": "50",
            "headrace.read.path": "fetch",
            "headrace.storage.url": "file:///data",
            "headrace.batch.rows.max": "10",
            "headrace.batch.bytes.max": "1000",
        },
        is_streaming=False,
    )
    assert options.ending == AtOneTimestamp(11)
    assert options.is_latest_if_none_newer
    assert not options.fail_on_data_loss
    assert options.include_headers
    assert options.is_committed
    assert (options.min_offsets_per_trigger, options.max_offsets_per_trigger) == (10, 100)
    assert options.max_trigger_delay_ms == 90_000
    assert (options.min_partitions, options.max_records_per_partition) == (4, 50)
    assert (options.read_path, options.storage_url) == ("fetch", "file:///data")
    assert (options.batch_rows_max, options.batch_bytes_max) == (10, 1000)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "exactly one of the options subscribe, subscribePattern, assign.*none"),
        ({"subscribe": "t", "assign": '{"t": [0]}'}, "found: subscribe, assign"),
        ({"subscribe": " , "}, "option subscribe: .*separated by commas"),
        ({"subscribe": "a b"}, "option subscribe: topic name 'a b'"),
        ({"subscribePattern": "("}, "option subscribePattern: .*regular expression"),
        ({"assign": "[]"}, "option assign: .*of the form"),
        ({"assign": '{"t": []}'}, "option assign"),
        ({"assign": '{"t": [-1]}'}, "option assign"),
        ({"assign": '{"t": [true]}'}, "option assign"),
        ({"subscribe": "t", "failOnDataLoss": "no"}, "failOnDataLoss: 'no' is not 'true' or"),
        ({"subscribe": "t", "maxOffsetsPerTrigger": "0"}, "whole number from 1 to"),
        ({"subscribe": "t", "minPartitions": "1.5"}, "minPartitions: '1.5'"),
        ({"subscribe": "t", "maxRecordsPerPartition": "-3"}, "maxRecordsPerPartition"),
        ({"subscribe": "t", "maxTriggerDelay": "soon"}, "maxTriggerDelay: .*units: ms, s"),
        ({"subscribe": "t", "headrace.read.path": "disk"}, "'auto', 'storage', 'fetch'"),
        ({"subscribe": "t", "headrace.read.paht": "auto"}, "did you mean headrace.read.path"),
        ({"subscribe": "t", "kafka.isolation.level": "snapshot"}, "'read_uncommitted', 'read_com"),
        ({"subscribe": "t", "startingOffsets": "oldest"}, "'earliest', 'latest' or JSON"),
        ({"subscribe": "t", "startingOffsets": "{"}, "option startingOffsets: .*JSON"),
        ({"subscribe": "t", "startingOffsets": '{"t": {"0": -3}}'}, "option startingOffsets"),
        ({"subscribe": "t", "startingOffsets": '{"t": {"x": 3}}'}, "option startingOffsets"),
        ({"subscribe": "t", "startingOffsets": "{}"}, "option startingOffsets"),
        ({"subscribe": "t", "startingOffsets": '{"t": [3]}'}, "option startingOffsets"),
        ({"subscribe": "t", "startingTimestamp": "-1"}, "option startingTimestamp"),
        ({"subscribe": "t", "startingOffsetsByTimestampStrategy": "first"}, "'error', 'latest'"),
        ({"subscribe": "t", "kafka.auto.offset.reset": "x"}, "use startingOffsets"),
        ({"subscribe": "t", "kafka.bootstrap.servers": " "}, "bootstrap.servers is missing"),
        (
            {"subscribe": "t", "minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"},
            "5 is more than maxOffsetsPerTrigger, 4",
        ),
    ],
)
def test_a_wrong_option_is_named_with_what_is_allowed(given, message):
    with pytest.raises(InvalidSourceOption, match=message):
        options_of(given, is_streaming=False)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"startingOffsets": "latest"}, "cannot start at the latest"),
        ({"startingOffsets": '{"t": {"0": -1}}'}, "cannot start at the latest"),
        ({"endingOffsets": "earliest"}, "cannot end at the earliest"),
        ({"endingOffsets": '{"t": {"0": -2}}'}, "cannot end at the earliest"),
    ],
)
def test_a_batch_cannot_start_at_the_end_or_end_at_the_start(given, message):
    with pytest.raises(InvalidSourceOption, match=message):
        options_of({"subscribe": "t", **given}, is_streaming=False)


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp"])
def test_a_stream_has_no_end(name):
    with pytest.raises(InvalidSourceOption, match=f"{name} is only for batch queries"):
        options_of({"subscribe": "t", name: "latest"}, is_streaming=True)


def test_options_of_others_are_passed_over_with_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        parse_options({**BROKER, "subscribe": "t", "maxOffsetPerTrigger": "5"}, is_streaming=True)
    assert "maxoffsetpertrigger" in caplog.text
    assert "did you mean maxOffsetsPerTrigger?" in caplog.text


def test_headers_can_be_asked_for_before_anything_else():
    assert wants_headers({"INCLUDEHEADERS": "true"})
    assert not wants_headers({})
