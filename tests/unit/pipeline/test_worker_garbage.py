"""Modules are spared by the garbage collector, what comes later is not."""

import subprocess
import sys

PROGRAM = """
import gc, weakref
from headrace.pipeline.worker_garbage import spare_what_is_loaded

class Node: pass

spare_what_is_loaded()
frozen = gc.get_freeze_count()
assert frozen > 0
node = Node()
node.itself = node
watch = weakref.ref(node)
spare_what_is_loaded()
assert gc.get_freeze_count() <= frozen
del node
gc.collect()
assert watch() is None
"""


def test_only_what_was_there_after_the_first_task_is_spared():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
