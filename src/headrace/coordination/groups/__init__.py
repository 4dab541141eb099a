"""Consumer groups: membership, rebalances and committed offsets. Pure; see ``coordinator.py``."""
