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


def main(arguments: list[str]) -> int:
    # Imported late: as a script this file is loaded before Spark has put the package on the path.
    from headrace.pipeline.jobs.definition import load_definition
    from headrace.pipeline.jobs.errors import InvalidDefinition
    from headrace.pipeline.jobs.job_logging import configure_job_logging
    from headrace.pipeline.jobs.run import JobContext, run_job, session_for

    configure_job_logging()
    log = logging.getLogger("headrace.pipeline.jobs")
    (path,) = arguments
    definition = load_definition(Path(path)).with_environment(os.environ)
    if definition.checkpoint is None:
        raise InvalidDefinition("job.checkpoint: is missing; a submitted job needs one")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    def on_progress(progress: JobProgress) -> None:
        log.info(
            "%d rows, %d parked, %d files; lag %s",
            progress.rows,
            progress.parked_rows,
            progress.files,
            progress.lag_records,
        )

    spark = session_for(replace(definition, master=None))  # spark-submit has chosen it
    try:
        run_job(JobContext(spark, definition, definition.checkpoint, on_progress, stop.is_set))
    finally:
        spark.stop()
    return 0


if __name__ == "__main__":
    # Python puts a script's own directory first, where our modules would hide others' packages.
    sys.path[:] = [each for each in sys.path if Path(each) != Path(__file__).parent]
    sys.exit(main(sys.argv[1:]))
