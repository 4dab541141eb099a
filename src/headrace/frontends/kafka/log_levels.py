"""How much the parts of the broker log, changeable while it runs, with Kafka's names of levels."""

from __future__ import annotations

import logging

from headrace.model.errors import InvalidConfig, InvalidRequest

ROOT = "root"
_PACKAGE = "headrace"
_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_NAMES = {
    logging.DEBUG: "DEBUG",
    logging.INFO: "INFO",
    logging.WARNING: "WARN",
    logging.ERROR: "ERROR",
    logging.CRITICAL: "FATAL",
}


def log_levels() -> dict[str, str]:
    """The level in force of every logger of ours, and of the root."""
    names = [name for name in logging.root.manager.loggerDict if _is_ours(name)]
    return {ROOT: _level_name(logging.root)} | {
        name: _level_name(logging.getLogger(name)) for name in sorted(names)
    }


def set_log_level(name: str, level: str, *, validate_only: bool = False) -> None:
    logger = _known_logger(name)
    if level.upper() not in _LEVELS:
        raise InvalidConfig(f"{name}={level}: expected one of {', '.join(_LEVELS)}")
    if not validate_only:
        logger.setLevel(_LEVELS[level.upper()])


def reset_log_level(name: str, *, validate_only: bool = False) -> None:
    """Follow the parent again; the root has none."""
    logger = _known_logger(name)
    if name == ROOT:
        raise InvalidRequest("the level of the root logger cannot be removed, only set")
    if not validate_only:
        logger.setLevel(logging.NOTSET)


def _known_logger(name: str) -> logging.Logger:
    if name == ROOT:
        return logging.root
    if name not in logging.root.manager.loggerDict or not _is_ours(name):
        raise InvalidConfig(f"there is no logger {name!r}")
    return logging.getLogger(name)


def _is_ours(name: str) -> bool:
    return name == _PACKAGE or name.startswith(f"{_PACKAGE}.")


def _level_name(logger: logging.Logger) -> str:
    level = logger.getEffectiveLevel()
    return _NAMES.get(level, "INFO")
