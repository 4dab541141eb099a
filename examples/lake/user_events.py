"""What users do in a shop. Half way through, a new version begins to send the campaign as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from producing import Moment, produce

if TYPE_CHECKING:
    import random

STEPS = (("view", 1.0), ("cart", 0.35), ("checkout", 0.5), ("buy", 0.7))
"""A step, and the part of those who did the step before it."""
NEW_VERSION_AT = 0.5
"""How far the producer is then."""
CAMPAIGNS = ("none", "autumn", "newsletter")


def event(chance: random.Random, moment: Moment) -> tuple[str, dict[str, object]]:
    user = f"user-{chance.randrange(3_000)}"
    reached = STEPS[0][0]
    for step, share in STEPS[1:]:
        if chance.random() > share:
            break
        reached = step
    value: dict[str, object] = {"user": user, "event": reached, "product": chance.randrange(200)}
    if reached == "buy":
        value["cents"] = chance.randrange(500, 20_000)
    if moment.progress >= NEW_VERSION_AT:
        value["campaign"] = chance.choice(CAMPAIGNS)
    return user, value


if __name__ == "__main__":
    produce("user-events", event)
