"""Access control: rules in the metadata log, an authorizer that follows them, and denials noted.

A change of the rules counts from its commit on: for requests that come later, and for answers that
are still waiting. ``authorize`` and its relatives are the authorizer's own methods.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headrace.broker.denials import Denial, DenialLog
from headrace.coordination.metadata.records import (
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
)
from headrace.model.errors import (
    HeadraceError,
    InvalidConfig,
    InvalidRequest,
    LimitReached,
    UnsupportedVersion,
)
from headrace.security.acl import Principal
from headrace.security.acl_entries import AclEntries, entry_of
from headrace.security.acl_index import ACLS_MAX
from headrace.security.authorizer import Authorizer
from headrace.storage.metadata_files import new_uuid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.broker.metadata_store import MetadataStore
    from headrace.config.broker import BrokerConfig
    from headrace.coordination.metadata.records import MetadataRecord
    from headrace.environment.ports import Chance, Clock
    from headrace.security.acl import AclBinding, AclBindingFilter, Operation, ResourceType

log = logging.getLogger(__name__)

CREATIONS_MAX = 10_000
FILTERS_MAX = 1_000
"""What one request may bring: each filter looks at every rule, and nobody else has a turn then."""


class AccessControl:
    """The one door to access rules. The launcher makes it if an authorizer is configured."""

    def __init__(
        self, store: MetadataStore, clock: Clock, chance: Chance, config: BrokerConfig
    ) -> None:
        """UnsupportedVersion if a rule of the log cannot be enforced: better no broker at all."""
        self._store = store
        self._chance = chance
        self._authorizer = Authorizer(
            super_users=parse_super_users(config.super_users),
            allow_everyone_if_no_acl_found=config.allow_everyone_if_no_acl_found,
        )
        self._entries = AclEntries(self._authorizer)
        self._denials = DenialLog(clock)
        self._load()
        self.authorize = self._authorizer.authorize
        self.authorize_by_resource_type = self._authorizer.authorize_by_resource_type
        self.authorized_operations = self._authorizer.authorized_operations
        self.matching = self._authorizer.matching

    @property
    def rule_count(self) -> int:
        return len(self._entries)

    def create(self, bindings: Sequence[AclBinding]) -> list[HeadraceError | None]:
        """One outcome per rule, None for a success. A rule that is there already is a success."""
        if len(bindings) > CREATIONS_MAX:
            raise LimitReached(f"one request can create {CREATIONS_MAX} access rules at most")
        records: list[MetadataRecord] = []
        added: dict[AclBinding, AccessControlEntryRecord] = {}
        outcomes: list[HeadraceError | None] = []
        for binding in bindings:
            try:
                binding.raise_if_invalid()
                if self._entries.maybe_id_of(binding) is None and binding not in added:
                    if len(self._entries) + len(records) >= ACLS_MAX:
                        raise LimitReached(f"there can be {ACLS_MAX} access rules at most")
                    entry = entry_of(new_uuid(self._chance), binding)
                    added[binding] = AccessControlEntryRecord(entry)
                    records.append(added[binding])
            except HeadraceError as error:
                outcomes.append(error)
            else:
                outcomes.append(None)
        self._commit(records)
        return outcomes

    def delete(self, filters: Sequence[AclBindingFilter]) -> list[list[AclBinding]]:
        """The rules that each filter selected, all of which are gone now."""
        if len(filters) > FILTERS_MAX:
            raise LimitReached(f"one request can have {FILTERS_MAX} filters at most")
        selected = [self._authorizer.matching(wanted) for wanted in filters]
        ids = {self._entries.maybe_id_of(binding): None for found in selected for binding in found}
        self._commit([RemoveAccessControlEntryRecord(each) for each in ids if each is not None])
        return selected

    def note_denial(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
    ) -> None:
        """For the operator's log."""
        self._denials.note(Denial(principal, host, operation, resource_type, name))

    def _load(self) -> None:
        for entry in self._store.state.access.rules.values():
            try:
                self._entries.replay(entry)
            except InvalidRequest as error:
                raise UnsupportedVersion(
                    f"access rule {entry.id.hex()} of the metadata log cannot be enforced: "
                    f"{error.message}"
                ) from error

    def _commit(self, records: Sequence[MetadataRecord]) -> None:
        self._store.commit(records)
        self._denials.begin_anew()
        for record in records:
            match record:
                case AccessControlEntryRecord():
                    self._entries.replay(record.entry)
                case RemoveAccessControlEntryRecord():
                    self._entries.replay_removal(record.entry_id)
        if records:
            log.info(
                "access rules changed: %d records, now %d rules", len(records), self.rule_count
            )


def parse_super_users(text: str) -> list[Principal]:
    """From ``User:admin;User:CN=ops,O=example``; InvalidConfig where that is no principal."""
    try:
        return [Principal.parse(each.strip()) for each in text.split(";") if each.strip()]
    except InvalidRequest as error:
        raise InvalidConfig(f"super.users: {error.message}") from error


def maybe_access_control(
    store: MetadataStore, clock: Clock, chance: Chance, config: BrokerConfig
) -> AccessControl | None:
    """None if no authorizer is configured: then everybody may do everything."""
    if config.authorizer_class_name:
        return AccessControl(store, clock, chance, config)
    count = len(store.state.access.rules)
    if count:
        log.warning("%d access rules are not enforced: authorizer.class.name is not set", count)
    return None
