"""Bytes to messages and back, per protocol; no I/O, no clock, and siblings do not meet."""
