"""What can be wrong with a job before, or beside, the work that it does."""

from __future__ import annotations

from headrace.model.errors import Blame, HeadraceError, InvalidConfig, ResourceNotFound


class InvalidDefinition(InvalidConfig):
    """A job's definition is not one that can be run."""


class JobNotFound(ResourceNotFound):
    """There is no job of this name in the state directory."""


class JobRunning(HeadraceError):
    """The job runs already; one job runs once."""

    blame = Blame.OPERATOR


class JobNotRunning(HeadraceError):
    """The job does not run, so there is nothing to stop."""


class JobFailed(HeadraceError):
    """A job ended with an error; its log says more."""

    blame = Blame.ENVIRONMENT
