"""Values that every layer shares, and the one tree of errors."""
