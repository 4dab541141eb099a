"""The log of a process that runs jobs: lines on standard error, which is a file by then."""

from __future__ import annotations

import logging
import sys

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY = ("py4j",)
"""Libraries that report every call as news."""


def configure_job_logging() -> None:
    logging.basicConfig(level=logging.INFO, format=LOG_FORMAT, stream=sys.stderr, force=True)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
