"""The HTTP front door: metrics and health for now."""
