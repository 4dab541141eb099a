"""Answers that tell of a change of metadata leave when the change survives a loss of power."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from headrace.frontends.kafka.context import Pending
from headrace.frontends.kafka.errors import NONE, error_code
from headrace.model.errors import HeadraceError, StorageFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.frontends.kafka.context import RequestContext


class Result(Protocol):
    """The part of an answer that tells of one changed thing."""

    error_code: int


Response = TypeVar("Response")


def answer_when_durable(
    context: RequestContext, response: Response, results: Sequence[Result]
) -> Response | Pending:
    """``response`` later; if the disk fails, with every success among ``results`` taken back."""
    pending = Pending()

    def durable(error: BaseException | None) -> None:
        if error is not None:
            _take_back(results, error)
        pending.complete(response)

    context.broker.store.when_durable(durable)
    return response if pending.is_complete else pending


def _take_back(results: Sequence[Result], error: BaseException) -> None:
    cause = error if isinstance(error, HeadraceError) else StorageFailure(str(error))
    for result in results:
        if result.error_code == NONE:
            result.error_code = error_code(cause)
