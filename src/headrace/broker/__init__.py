"""Protocol-neutral use cases: the only door for front ends."""
