"""Loading: transactions of Kafka's controller count when they end, and not before."""

from __future__ import annotations

from typing import Any

from headrace.coordination.metadata.loading import MetadataLoader
from headrace.coordination.metadata.records import (
    RecordType,
    RemoveTopicRecord,
    TopicRecord,
    TransactionRecord,
)

BEGIN = TransactionRecord(RecordType.BEGIN_TRANSACTION)
END = TransactionRecord(RecordType.END_TRANSACTION)
ABORT = TransactionRecord(RecordType.ABORT_TRANSACTION)
A, B, C = (TopicRecord(name, name.encode() * 16) for name in "abc")


def loaded(*records: Any) -> Any:
    loader = MetadataLoader()
    for record in records:
        loader.feed(record)
    return loader


def names(loader: MetadataLoader) -> Any:
    return [topic.name for topic in loader.state.topics()]


def test_transaction_counts_when_it_ends() -> None:
    loader = loaded(A, BEGIN, B)
    assert names(loader) == ["a"]
    loader.feed(END)
    loader.feed(C)
    assert names(loader) == ["a", "b", "c"]
    assert loader.finish() == 0


def test_aborted_transaction_never_happened() -> None:
    loader = loaded(BEGIN, A, B, ABORT, C)
    assert names(loader) == ["c"]


def test_transaction_without_an_end_is_dropped() -> None:
    loader = loaded(A, BEGIN, B, C)
    assert loader.finish() == 2
    assert names(loader) == ["a"]


def test_removed_topics_are_remembered_with_their_names() -> None:
    loader = loaded(A, B, RemoveTopicRecord(A.topic_id))
    assert loader.removed == {A.topic_id: "a"}
    assert names(loader) == ["b"]
