"""What can go wrong in the patterns. Each message says what to do next."""

from __future__ import annotations

from headrace.model.errors import Blame, HeadraceError


class UnsupportedDatabase(HeadraceError):
    """The pattern needs something that this database does not offer."""


class PatternTablesMissing(HeadraceError):
    """The tables of the pattern are not in the database."""

    blame = Blame.OPERATOR


class VersionGap(HeadraceError):
    """A message carries a version that does not follow the stored one: one is missing."""

    retriable = True


class IllegalTransition(HeadraceError):
    """The event is not allowed in the entity's state."""


class EntityNotFound(HeadraceError):
    """The row that the message is about does not exist (yet)."""

    retriable = True


class RelayNotLeader(HeadraceError):
    """Another relay works on this outbox."""

    retriable = True


class OutboxSendFailed(HeadraceError):
    """Not every message of a batch was acknowledged in time."""

    blame = Blame.ENVIRONMENT
    retriable = True


class OutboxRowRefused(HeadraceError):
    """The broker or the client library will never take the message of a row."""


class OutboxReadBackFailed(HeadraceError):
    """The tail of a topic could not be read back after a crash."""

    blame = Blame.ENVIRONMENT
    retriable = True


class OutboxTailLost(HeadraceError):
    """The part of the topic that says what was sent before the crash has been deleted."""

    blame = Blame.OPERATOR
