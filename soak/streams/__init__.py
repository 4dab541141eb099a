"""A word count in Kafka Streams with exactly_once_v2, through kills of the broker and of itself.

`python -m soak streams --kills 5`.
"""
