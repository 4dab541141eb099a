"""Everything outside of us as small ports, so that the same code runs for real and simulated."""
