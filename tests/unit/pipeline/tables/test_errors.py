"""What a system's refusal is called, and whether waiting can help."""

from __future__ import annotations

import errno
import pickle

import pytest

from headrace.pipeline.errors import TargetFull, TargetNotWritable
from headrace.pipeline.tables.errors import TargetUnreachable, refusal, refusals_named


@pytest.mark.parametrize(
    ("url", "error", "kind"),
    [
        ("/lake", OSError(errno.ENOSPC, "No space left on device"), TargetFull),
        ("/lake", OSError("write failed: No space left on device (os error 28)"), TargetFull),
        ("/lake", OSError(errno.EACCES, "Permission denied"), TargetNotWritable),
        ("/lake", OSError("Permission denied (os error 13)"), TargetNotWritable),
        ("/lake", OSError(errno.EIO, "Input/output error"), TargetUnreachable),
        ("/lake", OSError("Stale file handle (os error 116)"), TargetUnreachable),
        ("/lake", ValueError("odd"), TargetNotWritable),
        ("s3://lake", OSError("AWS Error NETWORK_CONNECTION"), TargetUnreachable),
        ("s3://lake", OSError("AWS Error ACCESS_DENIED"), TargetNotWritable),
    ],
)
def test_refusals_have_names(url, error, kind):
    found = refusal(url, error)
    assert type(found) is kind
    assert found.retriable is (kind is not TargetNotWritable)
    assert type(pickle.loads(pickle.dumps(found))) is kind


def test_whoever_knows_better_is_believed():
    assert type(refusal("/lake", OSError("odd"), is_passing=True)) is TargetUnreachable


def test_other_errors_pass():
    with pytest.raises(KeyError), refusals_named("/lake"):
        raise KeyError
    with pytest.raises(TargetNotWritable, match="lake"), refusals_named("/lake"):
        raise PermissionError(errno.EACCES, "no")
