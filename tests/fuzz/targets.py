"""All targets by name. Both engines and the tests take them from here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz import column_batches, connections, record_batches, stored_logs, stored_metadata

if TYPE_CHECKING:
    from tests.fuzz.target import Target

ALL: tuple[Target, ...] = (
    *connections.TARGETS,
    *record_batches.TARGETS,
    *column_batches.TARGETS,
    *stored_logs.TARGETS,
    *stored_metadata.TARGETS,
)
BY_NAME: dict[str, Target] = {target.name: target for target in ALL}
