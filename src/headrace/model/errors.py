"""One tree of errors. Each class says what happened, whose fault it is, and whether trying again
can help.

Front ends translate a class into the code of their own protocol, once, at the door. Nothing below a
front end knows a wire code.
"""

from __future__ import annotations

from enum import Enum


class Blame(Enum):
    """Who has to change something so that the error goes away."""

    CLIENT = "client"
    OPERATOR = "operator"
    ENVIRONMENT = "environment"
    OURSELVES = "ourselves"


class HeadraceError(Exception):
    """Root of all errors that Headrace raises on purpose."""

    blame: Blame = Blame.CLIENT
    retriable: bool = False

    @property
    def message(self) -> str:
        """The sentence a person should read: what was wrong, and with what."""
        return str(self) or (self.__doc__ or type(self).__name__)


# --- requests -----------------------------------------------------------------------------------


class InvalidRequest(HeadraceError):
    """The request contradicts itself or lacks something."""


class UnsupportedVersion(HeadraceError):
    """The peer asked for a version of an operation that is not served."""


class RequestTimedOut(HeadraceError):
    """The time the caller gave was not enough."""

    retriable = True


class PolicyViolation(HeadraceError):
    """The request is well formed, but the topic's policy forbids it."""


class TopicDeletionDisabled(PolicyViolation):
    """This broker is configured not to delete topics."""


class ResourceNotFound(HeadraceError):
    """The named resource does not exist."""


class LimitReached(HeadraceError):
    """A named limit of this broker is reached."""

    blame = Blame.OPERATOR


class ThrottlingQuotaExceeded(HeadraceError):
    """The client has used up its quota and must wait."""

    retriable = True


# --- topics and configuration -------------------------------------------------------------------


class UnknownTopicOrPartition(HeadraceError):
    """There is no such topic or partition."""

    retriable = True


class UnknownTopicId(HeadraceError):
    """There is no topic with this id."""

    retriable = True


class InconsistentTopicId(HeadraceError):
    """The topic has another id now: it was deleted and created again."""

    retriable = True


class InvalidTopicName(HeadraceError):
    """The topic name is illegal."""


class TopicExists(HeadraceError):
    """A topic with this name exists already."""


class InvalidPartitionCount(HeadraceError):
    """The number of partitions is illegal."""


class InvalidReplicationFactor(HeadraceError):
    """The replication factor cannot be satisfied by the brokers there are."""


class InvalidReplicaAssignment(HeadraceError):
    """The manual replica assignment is illegal."""


class InvalidConfig(HeadraceError):
    """A configuration name is unknown, or its value is out of range."""


# --- produce ------------------------------------------------------------------------------------


class CorruptRecord(HeadraceError):
    """The checksum or the framing of a batch is wrong."""

    retriable = True


class InvalidRecord(HeadraceError):
    """A batch breaks a rule that the broker enforces (and its checksum is right)."""

    def __init__(
        self, message: str = "", *, record_errors: tuple[tuple[int, str], ...] = ()
    ) -> None:
        super().__init__(message)
        self.record_errors = record_errors


class InvalidTimestamp(InvalidRecord):
    """A timestamp is outside of what the topic accepts."""


class RecordTooLarge(HeadraceError):
    """The batch is larger than the topic accepts."""


class BatchLargerThanSegment(HeadraceError):
    """The batch is larger than a whole segment of the topic may be."""


class UnsupportedCompression(HeadraceError):
    """The compression type cannot be used here."""


class InvalidRequiredAcks(HeadraceError):
    """The asked-for acknowledgement is none of the known ones."""


class NotEnoughReplicas(HeadraceError):
    """Fewer replicas are in sync than the topic demands."""

    blame = Blame.ENVIRONMENT
    retriable = True


class OutOfOrderSequence(HeadraceError):
    """The batch does not follow the last one of its producer."""


class InvalidProducerEpoch(HeadraceError):
    """A newer instance of this producer has written already."""


class ProducerFenced(HeadraceError):
    """A newer instance of this producer has taken over."""


class UnknownProducer(HeadraceError):
    """Nothing is known of this producer any more."""


class InvalidTransactionState(HeadraceError):
    """The operation is not allowed in the transaction's state."""


class InvalidTransactionTimeout(HeadraceError):
    """The transaction time-out is outside of the allowed range."""


class InvalidProducerIdMapping(HeadraceError):
    """The producer id does not belong to the transactional id."""


# --- fetch and leadership -----------------------------------------------------------------------


class OffsetOutOfRange(HeadraceError):
    """The offset is before the start or after the end of the log."""


class NotLeader(HeadraceError):
    """Another broker leads this partition."""

    blame = Blame.ENVIRONMENT
    retriable = True


class FencedLeaderEpoch(HeadraceError):
    """The caller's leader epoch is older than ours."""

    retriable = True


class UnknownLeaderEpoch(HeadraceError):
    """The caller's leader epoch is newer than ours."""

    retriable = True


class FetchSessionNotFound(HeadraceError):
    """The fetch session has been evicted, or never existed."""

    retriable = True


class InvalidFetchSessionEpoch(HeadraceError):
    """The fetch session's epoch is not the one that comes next."""

    retriable = True


class FetchSessionTopicIdError(HeadraceError):
    """A fetch session began with names and went on with ids, or the other way round."""

    retriable = True


# --- groups -------------------------------------------------------------------------------------


class CoordinatorLoading(HeadraceError):
    """The coordinator is still reading its state."""

    blame = Blame.ENVIRONMENT
    retriable = True


class CoordinatorNotAvailable(HeadraceError):
    """There is no coordinator right now."""

    blame = Blame.ENVIRONMENT
    retriable = True


class NotCoordinator(HeadraceError):
    """Another broker coordinates this group."""

    blame = Blame.ENVIRONMENT
    retriable = True


class InvalidGroupId(HeadraceError):
    """The group id is empty or otherwise illegal."""


class GroupNotFound(HeadraceError):
    """There is no such group."""


class NonEmptyGroup(HeadraceError):
    """The group still has members."""


class GroupSubscribedToTopic(HeadraceError):
    """The group is subscribed to the topic whose offsets were to be deleted."""


class GroupFull(HeadraceError):
    """The group has as many members as it may have."""

    blame = Blame.OPERATOR


class UnknownMember(HeadraceError):
    """The group does not know this member."""


class MemberIdRequired(HeadraceError):
    """The member must join again with the id that it is given."""

    def __init__(self, member_id: str) -> None:
        super().__init__("join again with the member id of this answer")
        self.member_id = member_id


class FencedInstance(HeadraceError):
    """Another member has taken this static instance id."""


class UnreleasedInstance(HeadraceError):
    """The static instance id is still in use by another member."""


class IllegalGeneration(HeadraceError):
    """The member's generation is not the group's."""


class FencedMemberEpoch(HeadraceError):
    """The member's epoch is wrong: it must abandon its partitions and join again."""


class StaleMemberEpoch(HeadraceError):
    """The member's epoch is older than the group's: it must heartbeat first."""


class RebalanceInProgress(HeadraceError):
    """The group is rebalancing."""

    retriable = True


class InconsistentGroupProtocol(HeadraceError):
    """The member's protocols have nothing in common with the group's."""


class InvalidSessionTimeout(HeadraceError):
    """The session time-out is outside of the broker's limits."""


class UnsupportedAssignor(HeadraceError):
    """The asked-for assignor is not known, or not the group's."""


class InvalidRegularExpression(HeadraceError):
    """The subscription's pattern does not compile."""


class OffsetMetadataTooLarge(HeadraceError):
    """The text stored with a committed offset is too long."""


class InvalidCommittedOffsetSize(HeadraceError):
    """The offset cannot be stored because its record would be too large."""


class UnstableOffset(HeadraceError):
    """An open transaction has offsets pending for this partition."""

    retriable = True


# --- storage and start-up -----------------------------------------------------------------------


class StorageFailure(HeadraceError):
    """The disk refused a read, a write or a sync."""

    blame = Blame.ENVIRONMENT
    retriable = True


class DiskFull(StorageFailure):
    """There is no space left on the disk."""


class DamagedLog(StorageFailure):
    """A log has damage that recovery must not hide."""


class DirectoryLocked(HeadraceError):
    """Another process uses this data directory."""

    blame = Blame.OPERATOR


class PackageNotInstalled(HeadraceError):
    """An optional package is asked for, and it is not there."""

    blame = Blame.OPERATOR

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs {package}; install it with: pip install 'headrace[{extra}]'"
        )


class AddressInUse(HeadraceError):
    """Another process listens on this address."""

    blame = Blame.OPERATOR


class InternalError(HeadraceError):
    """A fault of Headrace itself."""

    blame = Blame.OURSELVES


# --- security -----------------------------------------------------------------------------------


class AuthenticationFailed(HeadraceError):
    """The peer did not prove who it is."""


class IllegalSaslState(AuthenticationFailed):
    """The request does not fit into the connection's authentication."""


class PrincipalChanged(AuthenticationFailed):
    """The peer came back as somebody else when it was asked to authenticate again."""


class TokenRejected(AuthenticationFailed):
    """The bearer token is not one that this broker accepts."""


class InsufficientScope(TokenRejected):
    """The bearer token is genuine, but lacks a scope that this broker demands."""


class UnacceptableCredential(HeadraceError):
    """A credential breaks a rule for what may be stored."""


class UnsupportedSaslMechanism(HeadraceError):
    """The SASL mechanism is not one that this broker knows or offers."""


class DuplicateResource(HeadraceError):
    """A request names the same thing twice."""


class SecurityDisabled(HeadraceError):
    """This broker runs without an authorizer, so there are no access rules."""

    blame = Blame.OPERATOR


class AuthorizationFailed(HeadraceError):
    """The one who asks may not do this."""


class TopicAuthorizationFailed(AuthorizationFailed):
    """The one who asks may not do this to the topic, whether it exists or not."""


class GroupAuthorizationFailed(AuthorizationFailed):
    """The one who asks may not do this to the group, whether it exists or not."""


class ClusterAuthorizationFailed(AuthorizationFailed):
    """The one who asks may not do this to the cluster."""


class TransactionalIdAuthorizationFailed(AuthorizationFailed):
    """The one who asks may not use this transactional id."""


# --- transactions -------------------------------------------------------------------------------


class TransactionCoordinatorFenced(HeadraceError):
    """Another coordinator is in charge of this transaction."""


class ConcurrentTransactions(HeadraceError):
    """The producer's last transaction is still being completed."""

    retriable = True


class TransactionalIdNotFound(HeadraceError):
    """There is no such transactional id."""


class TransactionAbortable(HeadraceError):
    """The transaction can only be aborted; the producer may go on after that."""


# --- administration -----------------------------------------------------------------------------


class InvalidFeatureLevel(HeadraceError):
    """The feature cannot be set to this level."""


class LogDirectoryNotFound(HeadraceError):
    """There is no log directory with this path."""


class ElectionNotNeeded(HeadraceError):
    """The partition is led by the broker that an election would choose."""

    retriable = True


class NoReassignmentInProgress(HeadraceError):
    """The partition is not being reassigned, so there is nothing to cancel."""


class BrokerNotRegistered(HeadraceError):
    """There is no broker with this id in the cluster."""
