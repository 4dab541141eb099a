"""Which operations a client may do, as the bit sets that some answers carry on request.

Bit n stands for operation n of Kafka's access control. Nothing is refused to anybody yet, so these
are all operations that make sense for the kind of resource (KIP-430).
"""

from __future__ import annotations

NOT_ASKED = -(2**31)

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 3, 4, 5, 6, 7, 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 9, 10, 11, 12


def _bits(*operations: int) -> int:
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS = _bits(
    _READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS
)
CLUSTER_OPERATIONS = _bits(
    _CREATE,
    _ALTER,
    _DESCRIBE,
    _CLUSTER_ACTION,
    _DESCRIBE_CONFIGS,
    _ALTER_CONFIGS,
    _IDEMPOTENT_WRITE,
)

GROUP_OPERATIONS = _bits(_READ, _DELETE, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)


def topic_operations(*, is_asked: bool) -> int:
    return TOPIC_OPERATIONS if is_asked else NOT_ASKED


def cluster_operations(*, is_asked: bool) -> int:
    return CLUSTER_OPERATIONS if is_asked else NOT_ASKED


def group_operations(*, is_asked: bool) -> int:
    return GROUP_OPERATIONS if is_asked else NOT_ASKED
