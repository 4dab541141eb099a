"""Confluent's error codes: the one place that knows a code.

The first three digits of a code are the HTTP status, with one exception.
"""

from __future__ import annotations

from headrace.model.errors import (
    HeadraceError,
    LimitReached,
    RecordTooLarge,
    StorageFailure,
    TopicAuthorizationFailed,
)
from headrace.schemas import errors

STORE_ERROR = 50001
NOT_READY = 50004
"""Confluent's "no leader is known": its registry says so while it starts."""
CODES: dict[type[HeadraceError], int] = {
    TopicAuthorizationFailed: 40301,
    errors.SubjectNotFound: 40401,
    errors.VersionNotFound: 40402,
    errors.SchemaNotFound: 40403,
    errors.SubjectSoftDeleted: 40404,
    errors.SubjectNotSoftDeleted: 40405,
    errors.VersionSoftDeleted: 40406,
    errors.VersionNotSoftDeleted: 40407,
    errors.SubjectCompatibilityNotConfigured: 40408,
    errors.SubjectModeNotConfigured: 40409,
    errors.IncompatibleSchema: 409,
    errors.InvalidSchema: 42201,
    errors.InvalidVersion: 42202,
    errors.InvalidCompatibility: 42203,
    errors.InvalidMode: 42204,
    errors.OperationNotPermitted: 42205,
    errors.ReferenceExists: 42206,
    errors.InvalidSubject: 42208,
    errors.SchemaTooLarge: 42209,
    RecordTooLarge: 42209,
    LimitReached: 42205,
    StorageFailure: STORE_ERROR,
    errors.RegistryLoading: NOT_READY,
    errors.KindNotInstalled: 501,
}
STATUSES = {NOT_READY: 503}
"""Where the status is another: 503 is what clients and proxies take for "ask again"."""


def code_of(error: HeadraceError) -> int:
    """The nearest class that has a code; what is not foreseen is a fault of the store."""
    return next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), STORE_ERROR)


def status_of(code: int) -> int:
    return STATUSES.get(code) or int(str(code)[:3])
