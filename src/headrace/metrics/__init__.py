"""Counts and times: plain numbers on the hot path, Prometheus text at scrape time."""
