"""Broker processes with settings of their own, and the clients that torment them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.interop.broker_process import BrokerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


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
