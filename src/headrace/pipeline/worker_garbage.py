"""What the garbage collector of a Spark worker need not look at.

PySpark's daemon collects after every task, and looks at everything that Spark, Arrow and numba have
loaded: a tenth of a second, as long as a small task takes. None of that ever becomes garbage.
"""

from __future__ import annotations

import gc

_is_spared = False


def spare_what_is_loaded() -> None:
    """Called at the end of a task: then all modules are there. Only the first call counts, so that
    what later tasks leave behind is collected.
    """
    global _is_spared
    if not _is_spared:
        _is_spared = True
        gc.collect()
        gc.freeze()
