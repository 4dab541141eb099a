"""Tests of the metadata records, their replay and the decisions about them."""
