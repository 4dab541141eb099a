"""Broker processes with settings of their own, and the clients that torment them."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest

from tests.interop.broker_process import BrokerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


DESCRIPTORS = 8_000
"""Enough for both ends of 5,000 connections in two processes, and for what else is open."""


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """The broker and its clients inherit what is set here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        pytest.skip(f"{DESCRIPTORS} descriptors are needed, the hard limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, DESCRIPTORS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def make_broker(tmp_path: Path) -> Iterator[Callable[..., BrokerProcess]]:
    """`make_broker("name=value", ...)` starts a broker; all are gone after the test."""
    made: list[BrokerProcess] = []

    def make(*settings: str, directory: Path | None = None) -> BrokerProcess:
        options = [part for setting in settings for part in ("--set", setting)]
        broker = BrokerProcess(directory or tmp_path / f"data-{len(made)}", options)
        made.append(broker)
        broker.start()
        return broker

    yield make
    for broker in made:
        broker.__exit__()
