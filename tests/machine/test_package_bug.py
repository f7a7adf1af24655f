"""The shipped scenario `package-bug`: its reference meets the goals, the start and near misses do not."""

from __future__ import annotations

import pytest

from agentworld_sim.goals import check_goals
from agentworld_sim.scenario import Scenario
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.world import World

RUN = ToolSpec(name="run", binds_to="shell/run")
CONTAINS = "s/self.start <= moment < self.end/(moment - self.start) % WEEK < self.length/"
LEFT = "s/span.end - moment for/span.length - (moment - span.start) % WEEK for/"

NEAR_MISSES = {
    "half of it is mended": (f"sed -i '{CONTAINS}' src/openhours/hours.py", {0, 1}),
    "the failing tests are taken out": (
        "sed -i '/last_evening\\|last_midnight/,/^$/d' tests/test_hours.py",
        {0, 1, 2},
    ),
    "the tests are skipped": (
        "printf 'import pytest\\n@pytest.fixture(autouse=True)\\ndef skip():\\n    pytest.skip()\\n' > tests/conftest.py",
        {0, 1, 2},
    ),
    "every report says that it passed": (
        (
            "printf 'import pytest\\n@pytest.hookimpl(wrapper=True)\\ndef pytest_runtest_makereport(item, call):\\n"
            '    report = yield\\n    report.outcome = "passed"\\n    return report\\n\' > conftest.py'
        ),
        {1},
    ),
    "Monday's first hours are always open": (
        (
            "sed -i 's/return self.start <= moment < self.end/return self.start <= moment < self.end or moment < 120/;"
            " s/default=0)/default=0) or max(0, 120 - moment)/' src/openhours/hours.py"
        ),
        {0, 1},
    ),
    "only the case of the tests is mended": (
        (
            "sed -i 's/return self.start <= moment < self.end/return self.start <= moment < self.end or"
            " (self.length == 540 and self.start <= moment + WEEK < self.end)/;"
            " s/span.end - moment for/(span.end - moment) % WEEK for/' src/openhours/hours.py"
        ),
        {1},
    ),
}


async def unmet(command: str) -> set[int]:
    """The numbers of the goals that a command leaves unmet."""
    async with await World.create(Scenario.load("package-bug"), model=False) as world:
        world.add_tools([RUN])
        await world.step(ToolCall("run", {"command": command}))
        return {n for n, result in enumerate(await check_goals(world)) if not result.met}


@pytest.mark.slow
async def test_the_reference_reaches_the_goals() -> None:
    assert await unmet(f"sed -i '{CONTAINS}; {LEFT}' src/openhours/hours.py") == set()


@pytest.mark.slow
async def test_the_start_does_not() -> None:
    assert await unmet("true") == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("what", NEAR_MISSES)
async def test_a_near_miss_is_refused(what: str) -> None:
    command, goals = NEAR_MISSES[what]
    assert await unmet(command) == goals
