"""The bytes of access rules and SCRAM credentials in the metadata log; part of ``record_codec``.

Numbers are taken as they are: a rule or a mechanism that this version does not know is kept, and
whoever enforces it decides what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.coordination.metadata.records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from headrace.security.acl_entries import AclEntry

if TYPE_CHECKING:
    from headrace.records.wire import Reader, Writer


def read_access_control_entry(reader: Reader, version: int) -> AccessControlEntryRecord:
    entry = AclEntry(
        id=reader.uuid(),
        resource_type=reader.int8(),
        resource_name=reader.compact_string(),
        pattern_type=reader.int8(),
        principal=reader.compact_string(),
        host=reader.compact_string(),
        operation=reader.int8(),
        permission_type=reader.int8(),
    )
    reader.tagged_fields()
    return AccessControlEntryRecord(entry)


def write_access_control_entry(writer: Writer, record: AccessControlEntryRecord) -> None:
    entry = record.entry
    writer.uuid(entry.id).int8(entry.resource_type).compact_string(entry.resource_name)
    writer.int8(entry.pattern_type).compact_string(entry.principal).compact_string(entry.host)
    writer.int8(entry.operation).int8(entry.permission_type).tagged_fields()


def read_remove_access_control_entry(
    reader: Reader, version: int
) -> RemoveAccessControlEntryRecord:
    record = RemoveAccessControlEntryRecord(reader.uuid())
    reader.tagged_fields()
    return record


def write_remove_access_control_entry(
    writer: Writer, record: RemoveAccessControlEntryRecord
) -> None:
    writer.uuid(record.entry_id).tagged_fields()


def read_user_scram_credential(reader: Reader, version: int) -> UserScramCredentialRecord:
    record = UserScramCredentialRecord(
        user=reader.compact_string(),
        mechanism=reader.int8(),
        salt=reader.compact_binary(),
        stored_key=reader.compact_binary(),
        server_key=reader.compact_binary(),
        iterations=reader.int32(),
    )
    reader.tagged_fields()
    return record


def write_user_scram_credential(writer: Writer, record: UserScramCredentialRecord) -> None:
    writer.compact_string(record.user).int8(record.mechanism).compact_binary(record.salt)
    writer.compact_binary(record.stored_key).compact_binary(record.server_key)
    writer.int32(record.iterations).tagged_fields()


def read_remove_user_scram_credential(
    reader: Reader, version: int
) -> RemoveUserScramCredentialRecord:
    record = RemoveUserScramCredentialRecord(reader.compact_string(), reader.int8())
    reader.tagged_fields()
    return record


def write_remove_user_scram_credential(
    writer: Writer, record: RemoveUserScramCredentialRecord
) -> None:
    writer.compact_string(record.user).int8(record.mechanism).tagged_fields()
