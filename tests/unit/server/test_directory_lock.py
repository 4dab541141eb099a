"""One broker per directory, in one process and across processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.model.errors import DirectoryLocked, StorageFailure
from headrace.server.directory_lock import DirectoryLock

OTHER_PROCESS = """
import sys
from headrace.model.errors import DirectoryLocked
from headrace.server.directory_lock import DirectoryLock
try:
    DirectoryLock(sys.argv[1])
except DirectoryLocked:
    sys.exit(7)
"""


def lock_in_other_process(directory) -> int:
    return subprocess.run([sys.executable, "-c", OTHER_PROCESS, str(directory)]).returncode


def test_second_lock_is_refused_in_the_same_process_and_does_not_free_the_first(tmp_path):
    lock = DirectoryLock(str(tmp_path))
    with pytest.raises(DirectoryLocked, match="--data"):
        DirectoryLock(str(tmp_path))
    assert lock_in_other_process(tmp_path) == 7
    lock.release()
    assert lock_in_other_process(tmp_path) == 0
    DirectoryLock(str(tmp_path)).release()


def test_path_that_is_no_directory_is_a_named_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailure, match="data directory"):
        DirectoryLock(str(tmp_path / "file"))
