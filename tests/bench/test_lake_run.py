"""The order of a run and what an error does to it; brokers and drivers only take notes."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from bench.lake import run as run_module
from bench.lake.__main__ import arguments, plan_of
from tests.bench.lake_reports import measurement

FREE_BYTES = 10**10


class NotedPeer:
    def __init__(self, name):
        self.name = name


class NotedFactory:
    def __init__(self, name, work_directory):
        self.name = name

    @contextmanager
    def started(self):
        yield NotedPeer(self.name)


class NotedDriver:
    def __init__(self, route, peer, notes):
        self.route, self.peer, self.notes = route, peer, notes

    def warm_up(self, content):
        self.notes.append(f"warm {content.topic}")

    def measure(self, content):
        if self.route.name == "source" and content.shape.name == "1 KiB":
            raise RuntimeError("worker gone")
        self.notes.append(f"{self.route.name} on {self.peer.name}: {content.topic}")
        return measurement(self.route, 1_000_000, shape=content.shape.name)


@pytest.fixture
def noted(monkeypatch):
    """Runs a plan made of these words: the report, and what was done in which order."""
    notes = []

    @contextmanager
    def driver(route, peer, jars, parquet_codec, work_directory):
        yield NotedDriver(route, peer, notes)

    def note(word):
        return lambda peer, content, *_: notes.append(
            f"{word} {getattr(content, 'topic', content)} on {peer.name}"
        )

    monkeypatch.setattr(run_module, "PeerFactory", NotedFactory)
    monkeypatch.setattr(run_module, "route_driver", driver)
    monkeypatch.setattr(run_module, "make_topic", note("make"))
    monkeypatch.setattr(run_module, "add_records", note("add to"))
    monkeypatch.setattr(run_module, "delete_topic", note("delete"))
    monkeypatch.setattr(run_module, "batches_of", lambda *_: [])
    monkeypatch.setattr(run_module, "description", lambda *_: {})
    monkeypatch.setattr(run_module.shutil, "disk_usage", lambda _: SimpleNamespace(free=FREE_BYTES))

    def run(*words):
        plan = plan_of(arguments(words), ("kafka-clients-1.jar",), None)
        return run_module.Run(plan, Path(), Console(quiet=True)).run(), notes

    return run


def test_ways_take_turns_each_warmed_before_it_is_measured(noted):
    report, notes = noted("--quick", "--rounds", "2", "--route", "engine", "--route", "connector")
    turns = [note for note in notes if " on " in note and "lake-100" in note and ":" in note]
    assert (
        turns
        == [
            "engine on headrace: lake-100",
            "connector on headrace: lake-100",
        ]
        * 2
    )
    first = notes.index(turns[0])
    assert notes[first - 1] == "warm lake-warm-100"
    assert notes[first + 1 : first + 3] == ["warm lake-warm-1024", "engine on headrace: lake-1024"]
    assert notes[-2:] == ["delete lake-100 on headrace", "delete lake-1024 on headrace"]
    assert len(report.measurements) == 8
    assert report.errors == []


def test_a_way_that_fails_is_not_tried_again_and_the_others_go_on(noted):
    report, _ = noted("--quick", "--rounds", "2")
    assert report.errors == ["source, round 1: RuntimeError: worker gone"]
    done = [run.route.name for run in report.measurements]
    assert {name: done.count(name) for name in done} == {
        "engine": 4,
        "source": 1,
        "connector": 4,
        "connector-kafka": 4,
    }


def test_growth_is_by_partitions_on_both_brokers_and_by_size_on_one_at_a_time(noted):
    words = ("--quick", "--scale", "1", "--growth", "--sizes-gb", "1", "2", "20")
    report, notes = noted(*words, "--route", "engine", "--route", "connector-kafka")
    points = [(p.curve, p.x, p.measurement.route.name) for p in report.growth]
    assert points[:3] == [("partitions", x, "engine") for x in (1, 4, 16)]
    assert [(curve, round(x), name) for curve, x, name in points[6:]] == [
        ("GB", 1, "engine"),
        ("GB", 2, "engine"),
        ("GB", 1, "connector-kafka"),
        ("GB", 2, "connector-kafka"),
    ]
    sizes = [note for note in notes if "lake-sizes" in note and ":" not in note]
    assert sizes == [
        f"{word} lake-sizes on {name}"
        for name in ("headrace", "kafka")
        for word in ("make", "add to")
    ]
    assert report.left_out == [
        f"20 GB on {name}: 42 GB of disk wanted, 10 GB free" for name in ("headrace", "kafka")
    ]
