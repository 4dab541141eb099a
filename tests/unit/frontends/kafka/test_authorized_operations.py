"""Bit sets of operations, as Kafka without an authorizer answers them."""

from __future__ import annotations

from headrace.frontends.kafka.authorized_operations import cluster_operations, topic_operations


def test_nothing_is_told_unless_asked() -> None:
    assert topic_operations(is_asked=False) == cluster_operations(is_asked=False) == -2147483648


def test_all_operations_that_make_sense_are_allowed() -> None:
    assert topic_operations(is_asked=True) == 0b1101_1111_1000
    assert cluster_operations(is_asked=True) == 0b1_1111_1010_0000
