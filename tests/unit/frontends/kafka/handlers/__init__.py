"""Tests of the handlers, one file per API."""
