"""The records of the metadata log as values; ``record_codec`` has their bytes.

What we act on has a class of its own. Records about features that are not served stay bytes, so
that nothing is lost when the log is rewritten.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.model.topic import TopicId
    from headrace.quotas.entities import QuotaEntity
    from headrace.security.acl_entries import AclEntry

NO_LEADER = -1
NO_LEADER_CHANGE = -2


class RecordType(IntEnum):
    """All types that Kafka 4.3 writes."""

    REGISTER_BROKER = 0
    UNREGISTER_BROKER = 1
    TOPIC = 2
    PARTITION = 3
    CONFIG = 4
    PARTITION_CHANGE = 5
    FENCE_BROKER = 7
    UNFENCE_BROKER = 8
    REMOVE_TOPIC = 9
    DELEGATION_TOKEN = 10
    USER_SCRAM_CREDENTIAL = 11
    FEATURE_LEVEL = 12
    CLIENT_QUOTA = 14
    PRODUCER_IDS = 15
    BROKER_REGISTRATION_CHANGE = 17
    ACCESS_CONTROL_ENTRY = 18
    REMOVE_ACCESS_CONTROL_ENTRY = 19
    NO_OP = 20
    ZK_MIGRATION_STATE = 21
    REMOVE_USER_SCRAM_CREDENTIAL = 22
    BEGIN_TRANSACTION = 23
    END_TRANSACTION = 24
    ABORT_TRANSACTION = 25
    REMOVE_DELEGATION_TOKEN = 26
    REGISTER_CONTROLLER = 27
    CLEAR_ELR = 28


class ResourceType(IntEnum):
    """What a configuration can belong to."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class TopicRecord(NamedTuple):
    """A topic begins to exist; its partitions follow."""

    name: str
    topic_id: TopicId


class PartitionRecord(NamedTuple):
    """A partition with all that is known of it. ``directories`` go with ``replicas``, one each."""

    partition: int
    topic_id: TopicId
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[bytes, ...] = ()


class PartitionChangeRecord(NamedTuple):
    """What changed in a partition; None for what did not. Any leader given begins a new epoch."""

    partition: int
    topic_id: TopicId
    leader: int = NO_LEADER_CHANGE
    replicas: tuple[int, ...] | None = None
    in_sync: tuple[int, ...] | None = None
    directories: tuple[bytes, ...] | None = None


class ConfigRecord(NamedTuple):
    """One setting of a resource; without a value it goes back to its default."""

    resource_type: ResourceType
    resource_name: str
    name: str
    value: str | None


class RemoveTopicRecord(NamedTuple):
    """A topic ends, with its partitions and its configuration."""

    topic_id: TopicId


class FeatureLevelRecord(NamedTuple):
    """The level of a feature that the cluster has agreed on; 0 ends it."""

    name: str
    level: int


class ProducerIdsRecord(NamedTuple):
    """All producer ids below ``next_producer_id`` are given away."""

    broker_id: int
    next_producer_id: int


class AccessControlEntryRecord(NamedTuple):
    """An access rule begins to hold."""

    entry: AclEntry


class RemoveAccessControlEntryRecord(NamedTuple):
    """An access rule ends."""

    entry_id: bytes


@dataclass(frozen=True, slots=True)
class UserScramCredentialRecord:
    """What is kept of a user's password for one mechanism; replaces what was there before.

    Its secrets are kept out of ``repr``.
    """

    user: str
    mechanism: int
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


class RemoveUserScramCredentialRecord(NamedTuple):
    """A user loses the credential of one mechanism."""

    user: str
    mechanism: int


class ClientQuotaRecord(NamedTuple):
    """One quota of an entity; without a value it is taken away."""

    entity: QuotaEntity
    name: str
    value: float | None


class TransactionRecord(NamedTuple):
    """A group of records begins, or ends and counts, or never happened."""

    type: RecordType


class MembershipRecord(NamedTuple):
    """Who is alive, and the like: of no use to a node that runs alone."""

    type: RecordType


class ForeignRecord(NamedTuple):
    """Something that Kafka serves and we do not, kept as it is."""

    type: RecordType
    frame: bytes


class UnknownRecord(NamedTuple):
    """A type that Kafka 4.3 does not have."""

    type_number: int


MetadataRecord = (
    TopicRecord
    | PartitionRecord
    | PartitionChangeRecord
    | ConfigRecord
    | RemoveTopicRecord
    | FeatureLevelRecord
    | ProducerIdsRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | UserScramCredentialRecord
    | RemoveUserScramCredentialRecord
    | ClientQuotaRecord
    | TransactionRecord
    | MembershipRecord
    | ForeignRecord
    | UnknownRecord
)

TRANSACTION_TYPES = frozenset(
    {RecordType.BEGIN_TRANSACTION, RecordType.END_TRANSACTION, RecordType.ABORT_TRANSACTION}
)
FOREIGN_TYPES = frozenset(
    {
        RecordType.DELEGATION_TOKEN,
        RecordType.REMOVE_DELEGATION_TOKEN,
    }
)
