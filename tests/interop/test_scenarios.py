"""Every client runs every scenario that applies to it; the summary says what does not and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import ADMIN_CLIENT, CANNOT_CREATE, CANNOT_STAMP, client_parameter
from .registry import CLIENTS
from .scenarios import SCENARIOS, ScenarioRun

if TYPE_CHECKING:
    from .conftest import ClientPool

pytestmark = pytest.mark.interop

APPLICABLE = [
    client_parameter((spec,), spec.name, scenario.name, id=f"{spec.name}-{scenario.name}")
    for spec in CLIENTS
    for scenario in SCENARIOS.values()
    if spec.obstacle(scenario.needs) is None
]


@pytest.mark.parametrize(("client_name", "scenario_name"), APPLICABLE)
def test_client_runs_scenario(client_name: str, scenario_name: str, clients: ClientPool) -> None:
    client = clients.get(client_name)
    run = ScenarioRun(
        client=client,
        admin=clients.get(ADMIN_CLIENT) if client_name in CANNOT_CREATE else client,
        observer=clients.get(ADMIN_CLIENT),
        start_client=lambda: clients.start(client_name),
        can_set_timestamp=client_name not in CANNOT_STAMP,
    )
    try:
        SCENARIOS[scenario_name].run(run)
        run.close_all()
    except BaseException:
        clients.discard(client_name)
        raise
