"""Headrace: one append-only log, and front doors for the clients you already have."""
