"""One writer per table and process; other processes are in ``test_table.py``."""

from __future__ import annotations

import pytest

from headrace.pipeline.errors import TargetInUse
from headrace.pipeline.tables.writer_lock import WriterLock


def test_one_job_shares_the_lock_and_another_is_refused(tmp_path):
    one, again, other = (WriterLock(str(tmp_path)) for _ in range(3))
    one.acquire("job")
    one.acquire("job")
    again.acquire("job")
    with pytest.raises(TargetInUse, match="'job'"):
        other.acquire("other")
    one.release()
    one.release()
    with pytest.raises(TargetInUse):
        other.acquire("other")
    again.release()
    other.acquire("other")
    assert (tmp_path / "_headrace" / "writer.lock").read_text() == "other"
    other.release()
