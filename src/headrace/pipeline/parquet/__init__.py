"""Topics to tables of Parquet files, exactly once.

The driver plans ranges of offsets and commits files; the tasks read, decode and write, and no
record ever passes through Java. The table's own commits are the only truth about what is done.
"""

from __future__ import annotations

from headrace.pipeline.parquet.progress import ParquetProgress, ParquetReport
from headrace.pipeline.parquet.run import run_parquet, stream_parquet
from headrace.pipeline.parquet.settings import ParquetSettings

__all__ = ["ParquetProgress", "ParquetReport", "ParquetSettings", "run_parquet", "stream_parquet"]
