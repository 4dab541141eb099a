"""What ``spark-submit`` runs: ``submit_entry.py DEFINITION.toml``. No supervisor, no state.

The cluster restarts the driver if it is told to (``--supervise``, YARN's attempts); positions are
in the job's checkpoint and in the table.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.pipeline.jobs.progress import JobProgress

EXIT_OK = 0
EXIT_FAILED = 1


def main(arguments: list[str]) -> int:
    # Imported late: as a script this file is loaded before Spark has put the package on the path.
    from headrace.pipeline.jobs.fault import fault_of
    from headrace.pipeline.jobs.job_logging import configure_job_logging

    configure_job_logging()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    (path,) = arguments
    try:
        run_submitted(Path(path), stop)
    except Exception as error:
        logging.getLogger("headrace.pipeline.jobs").exception(
            "the job ends: %s", fault_of(error).message
        )
        return EXIT_FAILED
    return EXIT_OK


def run_submitted(path: Path, stop: threading.Event) -> None:
    """Until the job's end or ``stop``."""
    from headrace.pipeline.jobs.definition import load_definition
    from headrace.pipeline.jobs.errors import InvalidDefinition
    from headrace.pipeline.jobs.run import JobContext, run_job, session_for

    definition = load_definition(path).with_environment(os.environ)
    if definition.checkpoint is None:
        raise InvalidDefinition("job.checkpoint: is missing; a submitted job needs one")
    spark = session_for(replace(definition, master=None))  # spark-submit has chosen it
    try:
        run_job(JobContext(spark, definition, definition.checkpoint, log_progress, stop.is_set))
    finally:
        spark.stop()


def log_progress(progress: JobProgress) -> None:
    logging.getLogger("headrace.pipeline.jobs").info(
        "%d rows, %d parked, %d files; lag %s",
        progress.rows,
        progress.parked_rows,
        progress.files,
        progress.lag_records,
    )


if __name__ == "__main__":
    # Python puts a script's own directory first, where our modules would hide others' packages.
    sys.path[:] = [each for each in sys.path if Path(each) != Path(__file__).parent]
    sys.exit(main(sys.argv[1:]))
