"""Buffers that are used again, and those that must not be."""

from __future__ import annotations

from headrace.frontends.kafka.frame_buffers import BUFFER_BYTES, FrameBuffers


def test_a_buffer_that_was_given_back_is_used_again():
    buffers = FrameBuffers(2)
    first = buffers.take()
    assert len(first) == BUFFER_BYTES
    buffers.give_back(first)
    assert buffers.take() is first
    assert len(first) == BUFFER_BYTES


def test_there_are_no_more_than_the_limit():
    buffers = FrameBuffers(2)
    taken = [buffers.take(), buffers.take()]
    assert buffers.take() is None
    buffers.give_back(taken[0])
    assert buffers.take() is taken[0]
    assert buffers.take() is None


def test_a_buffer_that_somebody_looks_at_is_left_to_him_and_replaced():
    buffers = FrameBuffers(1)
    first = buffers.take()
    first[:5] = b"batch"
    view = memoryview(first)[:5]
    buffers.give_back(first)
    second = buffers.take()
    assert second is not first
    second[:5] = b"other"
    assert view == b"batch"
    assert buffers.take() is None
    buffers.give_back(second)
    assert buffers.take() is second


def test_a_view_that_is_gone_when_it_is_needed_does_not_matter():
    buffers = FrameBuffers(1)
    first = buffers.take()
    view = memoryview(first)
    buffers.give_back(first)
    view.release()
    assert buffers.take() is first
