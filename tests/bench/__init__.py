"""The pure parts of the bench: ratios, verdicts, rows, and what the Java tools print."""
