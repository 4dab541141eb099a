"""Errors of the pipeline, beside those of ``headrace.model.errors``.

They cross process borders (task, driver, supervisor), so each can be pickled with all it knows.
``retriable`` says whether the same work may succeed later without anybody changing anything.
"""

from __future__ import annotations

from headrace.model.errors import Blame, HeadraceError


class PipelineError(HeadraceError):
    """Root of the errors that only the pipeline raises."""

    blame = Blame.OPERATOR


class DataLoss(PipelineError):
    """Offsets that were to be read are gone: aged out, deleted, or the topic was made anew."""

    def __init__(
        self, topic: str, partition: int, first_offset: int, next_offset: int, cause: str
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.first_offset = first_offset
        self.next_offset = next_offset
        self.cause = cause
        super().__init__(
            f"offsets {first_offset} to {next_offset - 1} of {topic}-{partition} are lost: {cause};"
            " with failOnDataLoss=false they are passed over"
        )

    def __reduce__(self) -> tuple[type[DataLoss], tuple[str, int, int, int, str]]:
        return type(self), (
            self.topic,
            self.partition,
            self.first_offset,
            self.next_offset,
            self.cause,
        )


class TopicMissing(PipelineError):
    """A topic or partition that is to be read or written does not exist."""


class OffsetsOutOfRange(PipelineError):
    """The wanted offsets lie after the end of the log."""


class BrokerUnreachable(PipelineError):
    """No broker answered in time."""

    blame = Blame.ENVIRONMENT
    retriable = True


class StorageUnreachable(PipelineError):
    """The broker's files cannot be read from here, or are not the ones of this broker."""

    blame = Blame.ENVIRONMENT
    retriable = True


class UnusableClientOption(PipelineError):
    """A ``kafka.*`` option has a value that this client cannot use."""


class ForeignCheckpoint(PipelineError):
    """The checkpoint or the job's state belongs to another topic or another cluster."""


class UndecodableRecords(PipelineError):
    """Records cannot be decoded, and there is no place to park them."""


class SchemaConflict(PipelineError):
    """The table's columns and those of the records cannot be brought together."""


class TargetNotWritable(PipelineError):
    """The target refuses to be written: rights, or no such place."""


class TargetFull(TargetNotWritable):
    """There is no space left at the target."""

    blame = Blame.ENVIRONMENT
    retriable = True


class TargetInUse(PipelineError):
    """Another job writes to the same target."""
