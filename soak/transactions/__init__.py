"""Exactly once through kills: a read-process-write pipeline, judged by its output.

`python -m soak transactions --records 100000 --kills 50`.
"""
