"""What ends a producer has a name, also where the library has lost it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import KafkaError, KafkaException

from headrace.pipeline.sink.errors import DeliveryFailed, SinkFenced
from headrace.pipeline.sink.producing import flush, poll


def producer_that_raises(error: Exception) -> Any:
    def call(seconds: float) -> int:
        raise error

    return SimpleNamespace(poll=call, flush=call)


@pytest.mark.parametrize("call", [poll, flush])
@pytest.mark.parametrize(
    ("error", "name"),
    [
        (KafkaException(KafkaError(KafkaError._FENCED)), SinkFenced),
        (SystemError("returned NULL without setting an exception"), DeliveryFailed),
    ],
)
def test_the_end_of_a_producer_is_named(call: Any, error: Exception, name: Any) -> None:
    with pytest.raises(name, match="the producer"):
        call(producer_that_raises(error), 0)
