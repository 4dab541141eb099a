"""A plain table whose writer dies at any single file operation, before it or right after it.

The dead writer does nothing more, not even what stands in a ``finally``. Readers that come then,
and the job that does its batch again, must find every offset once.
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

from headrace.pipeline.tables import glob_view, open_table
from headrace.pipeline.tables.plain import files

from .batches import JOB, commit_batch, count, count_pattern, positions_after, rows_of

OPTIONS = {"sync": "false", "replaced.minutes": "0"}
OPERATIONS = ("link", "replace", "rename", "unlink", "mkdir", "rmdir", "open")
OPERATIONS_MAX = 200
BATCHES = 3


class Death(BaseException):
    """No ``except Exception`` gets in its way."""


class Operations:
    """Counts operations, and ends the process, so to speak, at one of them."""

    def __init__(self, deadly=OPERATIONS_MAX, *, is_done_first=False):
        self.count = 0
        self._deadly = deadly
        self._is_done_first = is_done_first

    def wrap(self, operation):
        def wrapped(*arguments, **options):
            if self.count > self._deadly:
                raise Death
            self.count += 1
            if self.count <= self._deadly:
                return operation(*arguments, **options)
            if self._is_done_first:
                _close(operation(*arguments, **options))
            raise Death

        return wrapped

    @contextmanager
    def watched(self):
        with pytest.MonkeyPatch.context() as patch:
            for name in OPERATIONS:
                patch.setattr(os, name, self.wrap(getattr(os, name)))
            patch.setattr(glob_view, "exchange", self.wrap(glob_view.exchange))
            patch.setattr("builtins.open", self.wrap(open))
            yield


def _close(opened):
    """The system does this for the dead."""
    if isinstance(opened, int):
        os.close(opened)
    elif opened is not None:
        opened.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A table with three batches and a compaction behind it."""
    root = str(tmp_path_factory.mktemp("made") / "orders")
    with open_table("plain", root, options=OPTIONS) as table:
        for batch_id in range(BATCHES):
            commit_batch(table, batch_id, parked=True)
            if batch_id == 1:
                table.compact()
    return root


def copy_of(made, tmp_path, number):
    root = str(tmp_path / str(number) / "orders")
    shutil.copytree(made, root)
    return root


def begin(root, action, operations):
    """Do it, and die where it is said; whether it came to the end."""
    table = open_table("plain", root, options=OPTIONS)
    try:
        with operations.watched():
            action(table)
    except Death:
        return False
    finally:
        table.close()  # the system does this for the dead
    return True


def commit(table):
    commit_batch(table, BATCHES, parked=True)


def compact(table):
    table.compact()


def commit_first(table):
    commit_batch(table, 0, parked=True)


def raise_if_wrong(root, batches_min, batches_max):
    """For readers by list and by pattern; the pattern may show a part of the last batch."""
    rows, offsets = count(files(root))
    assert rows == offsets
    assert rows in (rows_of(batches_min), rows_of(batches_max))
    shown, offsets = count_pattern(root)
    assert shown == offsets
    assert rows_of(batches_min) <= shown <= rows_of(batches_max)


def go_on(root, first_batch):
    """The job comes back, does its batch again, another one, and compacts."""
    with open_table("plain", root, options=OPTIONS) as table:
        for batch_id in range(first_batch, BATCHES + 2):
            commit_batch(table, batch_id, parked=True)
        assert count(files(root)) == (rows_of(BATCHES + 2),) * 2
        assert count_pattern(root) == (rows_of(BATCHES + 2),) * 2
        table.compact()
        assert count(files(root)) == (rows_of(BATCHES + 2),) * 2
        assert count_pattern(root) == (rows_of(BATCHES + 2),) * 2
        assert count(table.parked_files()) == ((BATCHES + 2) * 2,) * 2
        assert table.committed_positions(JOB) == positions_after(BATCHES + 1)
    assert os.listdir(os.path.dirname(root)) == ["orders"]


@pytest.mark.slow
@pytest.mark.parametrize("is_done_first", [False, True])
@pytest.mark.parametrize(("action", "batches_after"), [(commit, BATCHES + 1), (compact, BATCHES)])
def test_a_writer_that_dies_does_no_harm(made, tmp_path, action, batches_after, is_done_first):
    for deadly in range(OPERATIONS_MAX):
        root = copy_of(made, tmp_path, deadly)
        is_alive = begin(root, action, Operations(deadly, is_done_first=is_done_first))
        raise_if_wrong(root, BATCHES, batches_after)
        go_on(root, BATCHES)
        shutil.rmtree(os.path.dirname(root))
        if is_alive:
            assert deadly > 10, "the operations were not counted"
            return
    pytest.fail("there are more operations than the test is made for")


@pytest.mark.slow
@pytest.mark.parametrize("is_done_first", [False, True])
def test_a_writer_that_dies_at_its_first_batch_does_no_harm(tmp_path, is_done_first):
    for deadly in range(OPERATIONS_MAX):
        root = str(tmp_path / str(deadly) / "orders")
        is_alive = begin(root, commit_first, Operations(deadly, is_done_first=is_done_first))
        if os.path.exists(os.path.join(root, "_headrace", "current")):
            raise_if_wrong(root, 0, 1)
        go_on(root, 0)
        shutil.rmtree(os.path.dirname(root))
        if is_alive:
            return
    pytest.fail("there are more operations than the test is made for")
