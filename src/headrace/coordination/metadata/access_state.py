"""Access rules and SCRAM credentials as the metadata log has them; part of ``MetadataState``.

Kept as recorded, also what this version could not enforce: a snapshot must lose nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from headrace.coordination.metadata.records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from headrace.model.errors import DamagedLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.security.acl_entries import AclEntry

AccessRecord: TypeAlias = (
    AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | UserScramCredentialRecord
    | RemoveUserScramCredentialRecord
)


class AccessState:
    """Rules by id, credentials by user and mechanism, each in the order in which they came."""

    def __init__(self) -> None:
        self.rules: dict[bytes, AclEntry] = {}
        self.credentials: dict[tuple[str, int], UserScramCredentialRecord] = {}

    def replay(self, record: AccessRecord) -> None:
        match record:
            case AccessControlEntryRecord():
                self.rules[record.entry.id] = record.entry
            case RemoveAccessControlEntryRecord():
                if self.rules.pop(record.entry_id, None) is None:
                    raise DamagedLog(
                        f"the metadata log removes access rule {record.entry_id.hex()}, "
                        "which it never created"
                    )
            case UserScramCredentialRecord():
                self.credentials[record.user, record.mechanism] = record
            case RemoveUserScramCredentialRecord():
                self.credentials.pop((record.user, record.mechanism), None)

    def snapshot(self) -> Iterator[AccessRecord]:
        """The records that make all of it again."""
        for entry in self.rules.values():
            yield AccessControlEntryRecord(entry)
        yield from self.credentials.values()
