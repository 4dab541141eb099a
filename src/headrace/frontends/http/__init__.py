"""The HTTP front door: metrics, health and the schema registry."""
