from __future__ import annotations

import pytest

from headrace.coordination.groups.consumer_topics import CatalogueTopic, TopicCatalogue

A, B = b"a" * 16, b"b" * 16


@pytest.fixture
def catalogue() -> TopicCatalogue:
    catalogue = TopicCatalogue()
    catalogue.put("orders", A, 3)
    return catalogue


def test_catalogue_finds_topics_by_name_and_id(catalogue: TopicCatalogue) -> None:
    assert catalogue.topic("orders") == CatalogueTopic("orders", A, 3)
    assert catalogue.topic_by_id(A) == catalogue.topic("orders")
    assert catalogue.topic("other") is None
    assert catalogue.ids({"orders", "other"}) == {A}
    assert catalogue.partition_counts([A]) == {A: 3}


def test_version_grows_with_changes_only(catalogue: TopicCatalogue) -> None:
    version = catalogue.version
    catalogue.put("orders", A, 3)
    catalogue.remove("other")
    assert catalogue.version == version
    catalogue.put("orders", A, 4)
    assert catalogue.version == version + 1
    catalogue.remove("orders")
    assert catalogue.version == version + 2


def test_topic_created_anew_is_known_by_its_new_id_only(catalogue: TopicCatalogue) -> None:
    catalogue.put("orders", B, 3)
    assert catalogue.topic_by_id(A) is None
    assert catalogue.ids({"orders"}) == {B}


def test_topics_changed_replaces_all(catalogue: TopicCatalogue) -> None:
    catalogue.topics_changed({"payments": (B, 1)})
    assert list(catalogue.names()) == ["payments"]


def test_metadata_hash_depends_on_what_the_named_topics_are(catalogue: TopicCatalogue) -> None:
    before = catalogue.metadata_hash({"orders", "payments"})
    assert catalogue.metadata_hash({"payments", "orders"}) == before
    assert catalogue.metadata_hash({"payments"}) == 0, "nothing exists, as in Kafka"
    catalogue.put("unrelated", B, 1)
    assert catalogue.metadata_hash({"orders", "payments"}) == before
    catalogue.put("orders", A, 4)
    assert catalogue.metadata_hash({"orders", "payments"}) != before
    assert -(2**63) <= before < 2**63
