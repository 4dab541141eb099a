"""The scenarios, written once; importing this package declares them all."""

from . import administration, errors, groups, records
from .declare import SCENARIOS, Scenario, ScenarioRun

__all__ = ["SCENARIOS", "Scenario", "ScenarioRun", "administration", "errors", "groups", "records"]
