"""Every task that comes with a site is proved, with the tools that an agent has."""

from __future__ import annotations

import pytest

from agentworld_sim.scenario import site_tasks
from agentworld_sim.scenario.site_file import SHIPPED
from agentworld_sim.testing.site_tasks import prove_site_task

SITES = sorted(file.parent.name for file in SHIPPED.glob("*/tasks.yaml"))
TASKS = [(site, task.id) for site in SITES for task in site_tasks(site).tasks]


@pytest.mark.parametrize(("site", "name"), TASKS, ids=[f"{site}-{name}" for site, name in TASKS])
async def test_the_reference_reaches_the_goals_and_near_misses_do_not(site: str, name: str) -> None:
    assert await prove_site_task(site_tasks(site), name) == []
