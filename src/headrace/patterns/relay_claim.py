"""What a relay writes down before it sends: where the topics end.

After a crash between sending and deleting, the next relay reads the topics from there on, and every
row whose id it meets has been sent. Offsets may be lower than the true ends (a longer read, the
same answer), never higher.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

Offsets = dict[str, dict[int, int]]


@dataclass(frozen=True, slots=True)
class Claim:
    """``ends``: topic -> partition -> end offset. A partition that is missing was not there yet,
    and is read from its start."""

    send_timeout_s: float
    ends: Offsets = field(default_factory=dict)

    def to_text(self) -> str:
        return json.dumps({"send_timeout_s": self.send_timeout_s, "ends": self.ends})

    @classmethod
    def from_text(cls, text: str) -> Claim:
        fields = json.loads(text)
        ends = {
            topic: {int(partition): int(end) for partition, end in partitions.items()}
            for topic, partitions in fields["ends"].items()
        }
        return cls(float(fields["send_timeout_s"]), ends)
