"""A claim survives the way through the database."""

from __future__ import annotations

from headrace.patterns.relay_claim import Claim


def test_claim_is_read_as_it_was_written():
    claim = Claim(2.5, {"orders": {0: 7, 12: 0}, "new": {}})
    assert Claim.from_text(claim.to_text()) == claim
