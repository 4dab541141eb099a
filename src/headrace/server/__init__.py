"""The one place that knows all parts: starts them, and stops them in reverse order."""
