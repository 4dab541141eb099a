"""A web server's access log, one JSON object per request."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from producing import HISTORY_MS, Moment, produce

if TYPE_CHECKING:
    import random

ROUTES = {"/": 20, "/search": 60, "/product": 35, "/cart": 45, "/checkout": 180}
STATUSES = (200, 200, 200, 200, 200, 200, 200, 304, 404, 500)


def request(chance: random.Random, moment: Moment) -> tuple[str, dict[str, object]]:
    route = chance.choice(list(ROUTES))
    # Twice in the history the checkout gets slow and fails more often.
    trouble = route == "/checkout" and math.sin(moment.time_ms / HISTORY_MS * 4 * math.pi) > 0.8
    duration_ms = chance.lognormvariate(math.log(ROUTES[route] * (6 if trouble else 1)), 0.4)
    return f"10.0.{moment.number % 7}.{chance.randrange(256)}", {
        "method": "POST" if route == "/checkout" else "GET",
        "route": route,
        "status": 500 if trouble and chance.random() < 0.4 else chance.choice(STATUSES),
        "duration_ms": round(duration_ms, 1),
        "bytes": chance.randrange(200, 90_000),
    }


if __name__ == "__main__":
    produce("web-logs", request)
