"""The list of all work: names, bars, and values that are the same in every run."""

from __future__ import annotations

from bench.clients import random_values, text_values
from bench.work import AFTER_LOAD, BEFORE_LOAD, GROWTH, LIFE_CYCLE, STEADY
from bench.work.throughput import throughput

REPEATED = (*BEFORE_LOAD, *STEADY, *AFTER_LOAD, *LIFE_CYCLE)


def bars(name):
    work = next(work for work in REPEATED if work.name == name)
    return {figure.name: figure.bar for figure in work.figures}


def test_names_of_work_and_of_its_figures_are_unique():
    names = [work.name for work in (*REPEATED, *GROWTH)]
    assert len(names) == len(set(names))
    for work in REPEATED:
        assert len({figure.name for figure in work.figures}) == len(work.figures)
        assert work.rounds_max >= 1
        assert work.durability


def test_the_bars_stand_where_they_belong():
    assert bars("produce-100B-1p") == {"rate": 1.0, "broker CPU": 0.5}
    assert bars("produce-1000B-1p") == {"rate": 1.3, "broker CPU": None}
    assert bars("produce-100B-12p") == {"rate": None, "broker CPU": None}
    assert bars("consume-100B-1p") == {"rate": 1.0, "broker CPU": 0.8}
    assert bars("consume-1000B-1p") == {"rate": 1.0, "broker CPU": 0.8}
    assert bars("synchronous") == {"p50": 0.8, "p99": 0.75, "p99.9": None}
    assert bars("single") == {"rate": 5.0, "broker CPU": None}
    assert bars("end-to-end-10000") == {"p50": 0.5, "p99": 0.3, "p99.9": None}
    assert set(bars("end-to-end-1000").values()) == {None}
    assert bars("memory-idle") == {"resident": 0.2}
    assert bars("memory-loaded") == {"resident": 0.15, "peak": None}
    for records in (1, 100):
        for producers in (1, 16):
            name = f"transactions-{records}r-{producers}p"
            assert bars(name) == {"rate": 5.0, "p50": None, "p99": None}
            for generation in (1, 2):
                light = bars(f"{name}-light-v{generation}")
                assert {name for name, bar in light.items() if bar is not None} == {"rate"}
                assert light["rate"] == 5.0
    assert bars("read-committed-100B") == {"rate": 1.0, "broker CPU": None}
    assert bars("tls-1000B") == {"produce": 0.8, "consume": 0.8}


def test_memory_is_in_use_before_transactions_that_write_much():
    bulk = {work.name: work.writes_bulk for work in STEADY}
    assert bulk["transactions-100r-16p-light-v2"]
    assert bulk["transactions-100r-1p"]
    assert not bulk["transactions-1r-16p-light-v2"]


def test_titles_count_records_and_producers():
    titles = {work.name: work.title for work in STEADY}
    one = "Transactions of 1 record, 1 producer, light client, version 2"
    assert titles["transactions-1r-1p-light-v2"] == one
    many = "Transactions of 100 records, 16 producers, librdkafka"
    assert titles["transactions-100r-16p"] == many


def test_small_records_are_counted_and_large_ones_weighed():
    assert throughput(100, 2_000_000, 5e5, 1.0) == {"rate": 5e5, "broker CPU": 0.5}
    assert throughput(1_000, 500_000, 2e5, 1.0) == {"rate": 200.0, "broker CPU": 2.0}


def test_values_have_the_size_asked_for_and_text_is_the_same_in_every_run():
    assert {len(value) for value in (*random_values(100), *text_values(1_000))} == {100, 1_000}
    assert text_values(300) == text_values(300)
