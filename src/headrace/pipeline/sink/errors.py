"""What can go wrong when rows become records. Each error says what was left unwritten."""

from __future__ import annotations

from headrace.model.errors import Blame
from headrace.pipeline.errors import PipelineError


class InvalidSinkSchema(PipelineError):
    """The rows do not have the columns, or not the types, that records are made of."""

    blame = Blame.CLIENT


class InvalidSinkRow(PipelineError):
    """A row cannot become a record: it names no topic, or an impossible partition."""

    blame = Blame.CLIENT


class InvalidSinkOption(PipelineError):
    """An option of the sink is unknown, or its value makes no sense."""

    blame = Blame.CLIENT


class StagedRowsMissing(PipelineError):
    """Rows that a task has put aside cannot be read by the driver; nothing was written."""


class DeliveryFailed(PipelineError):
    """The broker did not take the records. With a transaction, none of them will be seen."""

    blame = Blame.ENVIRONMENT
    retriable = True


class SinkFenced(PipelineError):
    """Another run of the same query writes now, or the transaction took too long; it was undone.

    Trying again is safe, and often enough: the other run may be what is left of a killed driver,
    and the broker may have been away for a part of the transaction's time.
    """

    retriable = True


class SinkAheadOfCheckpoint(PipelineError):
    """The output holds later batches than the checkpoint knows of: they do not belong together."""


class SinkOfAnotherQuery(PipelineError):
    """The sink's id is one under which another query has written: their batches would mix."""

    blame = Blame.CLIENT
