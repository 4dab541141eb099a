"""Long and violent runs of a real broker under real clients, judged by the history checker.

`python -m soak kill --cycles 1000`, `python -m soak long --minutes 45`, and others: --help.
"""
