"""From the text of an option to its value. Each function names the option in its error, says what
it found and what is allowed.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from headrace.model.errors import InvalidTopicName
from headrace.model.topic import TopicPartition, raise_if_illegal_topic_name
from headrace.pipeline.source.errors import InvalidSourceOption
from headrace.pipeline.source.stream_offset import NOT_A_TOPIC

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.pipeline.source.positions import Positions

LONG_MAX = 2**63 - 1
PARTITION_MAX = 2**31 - 1
JSON_CHARACTERS_MAX = 16 * 1024 * 1024
SHOWN_CHARACTERS_MAX = 80

_DURATION = re.compile(r"\s*(\d{1,18})\s*([a-z]*)\s*")
_UNITS_MS = {
    "": 1,
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


def wrong(name: str, value: str, allowed: str) -> InvalidSourceOption:
    shown = value if len(value) <= SHOWN_CHARACTERS_MAX else f"{value[:SHOWN_CHARACTERS_MAX]}..."
    return InvalidSourceOption(f"option {name}: {shown!r} is not {allowed}")


def boolean(name: str, value: str) -> bool:
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise wrong(name, value, "'true' or 'false'")
    return lowered == "true"


def choice(name: str, value: str, allowed: Sequence[str]) -> str:
    lowered = value.strip().lower()
    if lowered not in allowed:
        raise wrong(name, value, f"one of {', '.join(repr(word) for word in allowed)}")
    return lowered


def whole_number(name: str, value: str, *, least: int = 1, most: int = LONG_MAX) -> int:
    allowed = f"a whole number from {least} to {most}"
    text = value.strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,19}", text):
        raise wrong(name, value, allowed)
    number = int(text)
    if not least <= number <= most:
        raise wrong(name, value, allowed)
    return number


def duration_ms(name: str, value: str) -> int:
    """Spark's notation: ``15m``, ``90s``, ``500ms``; a bare number is milliseconds."""
    match = _DURATION.fullmatch(value.lower())
    if match is None or match[2] not in _UNITS_MS:
        units = ", ".join(unit for unit in _UNITS_MS if unit)
        raise wrong(name, value, f"a time such as '15m' (units: {units})")
    return int(match[1]) * _UNITS_MS[match[2]]


def topic_names(name: str, value: str) -> tuple[str, ...]:
    """``a, b``: at least one, each legal, each once."""
    topics = tuple(dict.fromkeys(topic for part in value.split(",") if (topic := part.strip())))
    if not topics:
        raise wrong(name, value, "a list of topics separated by commas")
    for topic in topics:
        _raise_if_illegal(name, topic)
    return topics


def pattern(name: str, value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise wrong(name, value, f"a regular expression ({error})") from error
    if not value.strip():
        raise wrong(name, value, "a regular expression for names of topics")
    return value


def assigned_partitions(name: str, value: str) -> tuple[TopicPartition, ...]:
    """``{"topic": [0, 1]}``."""
    allowed = """JSON of the form {"topic": [0, 1]}"""
    result: set[TopicPartition] = set()
    for topic, numbers in _json_object(name, value, allowed).items():
        _raise_if_illegal(name, topic)
        if not isinstance(numbers, list) or not numbers:
            raise wrong(name, value, allowed)
        result.update(_partition(name, value, allowed, topic, number) for number in numbers)
    if not result:
        raise wrong(name, value, allowed)
    return tuple(sorted(result))


def positions(name: str, value: str, *, least: int, meaning: str) -> Positions:
    """``{"topic": {"0": 23}}``, each number at least ``least``."""
    allowed = f"""JSON of the form {{"topic": {{"0": {meaning}}}}}"""
    result: Positions = {}
    for topic, by_partition in _json_object(name, value, allowed).items():
        if topic.startswith(NOT_A_TOPIC):  # an offset of a checkpoint, which says whose it is
            continue
        _raise_if_illegal(name, topic)
        if not isinstance(by_partition, dict):
            raise wrong(name, value, allowed)
        for text, number in by_partition.items():
            if not text.isdecimal() or type(number) is not int or not least <= number <= LONG_MAX:
                raise wrong(name, value, allowed)
            result[_partition(name, value, allowed, topic, int(text))] = number
    if not result:
        raise wrong(name, value, allowed)
    return result


def _partition(name: str, value: str, allowed: str, topic: str, number: Any) -> TopicPartition:
    if type(number) is not int or not 0 <= number <= PARTITION_MAX:
        raise wrong(name, value, allowed)
    return TopicPartition(topic, number)


def _json_object(name: str, value: str, allowed: str) -> dict[str, Any]:
    if len(value) > JSON_CHARACTERS_MAX:
        raise wrong(name, value, f"at most {JSON_CHARACTERS_MAX} characters long")
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise wrong(name, value, f"{allowed} ({error})") from error
    if not isinstance(parsed, dict):
        raise wrong(name, value, allowed)
    return parsed


def _raise_if_illegal(name: str, topic: str) -> None:
    try:
        raise_if_illegal_topic_name(topic)
    except InvalidTopicName as error:
        raise InvalidSourceOption(f"option {name}: {error}") from error
