"""The one place where an error of ours becomes a number of Kafka's."""

from __future__ import annotations

import logging

from headrace.model import errors as model

log = logging.getLogger(__name__)

UNKNOWN_SERVER_ERROR = -1
NONE = 0

_CODES: dict[type[model.HeadraceError], int] = {
    model.OffsetOutOfRange: 1,
    model.CorruptRecord: 2,
    model.UnknownTopicOrPartition: 3,
    model.NotLeader: 6,
    model.RequestTimedOut: 7,
    model.RecordTooLarge: 10,
    model.OffsetMetadataTooLarge: 12,
    model.CoordinatorLoading: 14,
    model.CoordinatorNotAvailable: 15,
    model.NotCoordinator: 16,
    model.InvalidTopicName: 17,
    model.BatchLargerThanSegment: 18,
    model.NotEnoughReplicas: 19,
    model.InvalidRequiredAcks: 21,
    model.IllegalGeneration: 22,
    model.InconsistentGroupProtocol: 23,
    model.InvalidGroupId: 24,
    model.UnknownMember: 25,
    model.InvalidSessionTimeout: 26,
    model.RebalanceInProgress: 27,
    model.InvalidCommittedOffsetSize: 28,
    model.TopicAuthorizationFailed: 29,
    model.GroupAuthorizationFailed: 30,
    model.ClusterAuthorizationFailed: 31,
    model.InvalidTimestamp: 32,
    model.UnsupportedSaslMechanism: 33,
    model.IllegalSaslState: 34,
    model.UnsupportedVersion: 35,
    model.TopicExists: 36,
    model.InvalidPartitionCount: 37,
    model.InvalidReplicationFactor: 38,
    model.InvalidReplicaAssignment: 39,
    model.InvalidConfig: 40,
    model.InvalidRequest: 42,
    model.PolicyViolation: 44,
    model.LimitReached: 44,
    model.OutOfOrderSequence: 45,
    model.InvalidProducerEpoch: 47,
    model.InvalidTransactionState: 48,
    model.InvalidProducerIdMapping: 49,
    model.InvalidTransactionTimeout: 50,
    model.ConcurrentTransactions: 51,
    model.TransactionCoordinatorFenced: 52,
    model.TransactionalIdAuthorizationFailed: 53,
    model.SecurityDisabled: 54,
    model.StorageFailure: 56,
    model.LogDirectoryNotFound: 57,
    model.AuthenticationFailed: 58,
    model.UnknownProducer: 59,
    model.NonEmptyGroup: 68,
    model.GroupNotFound: 69,
    model.FetchSessionNotFound: 70,
    model.InvalidFetchSessionEpoch: 71,
    model.TopicDeletionDisabled: 73,
    model.FencedLeaderEpoch: 74,
    model.UnknownLeaderEpoch: 75,
    model.UnsupportedCompression: 76,
    model.MemberIdRequired: 79,
    model.GroupFull: 81,
    model.FencedInstance: 82,
    model.ElectionNotNeeded: 84,
    model.NoReassignmentInProgress: 85,
    model.GroupSubscribedToTopic: 86,
    model.InvalidRecord: 87,
    model.UnstableOffset: 88,
    model.ThrottlingQuotaExceeded: 89,
    model.ProducerFenced: 90,
    model.ResourceNotFound: 91,
    model.DuplicateResource: 92,
    model.UnacceptableCredential: 93,
    model.InvalidFeatureLevel: 95,
    model.UnknownTopicId: 100,
    model.BrokerNotRegistered: 102,
    model.InconsistentTopicId: 103,
    model.TransactionalIdNotFound: 105,
    model.FetchSessionTopicIdError: 106,
    model.FencedMemberEpoch: 110,
    model.UnreleasedInstance: 111,
    model.UnsupportedAssignor: 112,
    model.StaleMemberEpoch: 113,
    model.TransactionAbortable: 120,
    model.InvalidRegularExpression: 128,
}


def error_code(error: BaseException) -> int:
    """The code of the error's class, or of the nearest ancestor that has one.

    What is not in our tree is a fault of ours: the peer learns only that, the log gets the details,
    since those may be nobody else's business.
    """
    for cls in type(error).__mro__:
        code = _CODES.get(cls)
        if code is not None:
            return code
    log.error("unexpected error while serving a request", exc_info=error)
    return UNKNOWN_SERVER_ERROR


def error_message(error: BaseException) -> str | None:
    """What the peer may read."""
    return error.message if isinstance(error, model.HeadraceError) else None
