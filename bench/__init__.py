"""Measurements. Not shipped."""
