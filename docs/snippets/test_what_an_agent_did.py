import asyncio
import re

import pytest

from agentworld_fixtures import SimWorld
from agentworld_sim import bind


def bash(command: str) -> str:
    """Runs a command."""
    raise NotImplementedError("the real tool, which is never called")


def agent(world: SimWorld, *commands: str) -> list[str]:
    """Yours goes here; this one runs the commands it is given."""
    (tool,) = bind(world, [bash])
    return [asyncio.run(tool({"command": command})) for command in commands]


@pytest.mark.sim(scenario="failing-test")
def test_the_agent_looks_before_it_edits(world: SimWorld) -> None:
    agent(world, "make test", "cp src/csv.sh /tmp/csv.sh", "echo '# checked' >> src/csv.sh")

    world.assert_called("bash", args={"command": "make test"}, times=1)
    world.assert_order(
        ("bash", {"command": "make test"}), ("bash", {"command": re.compile("src/csv.sh")})
    )
    world.assert_not_called("bash", args={"command": re.compile(r"\bgit push\b")})
    world.assert_no_destructive()
    world.assert_state(files={"src/csv.sh": re.compile("# checked$"), "src/csv.sh.orig": None})
    assert [change.path for change in world.diff().files] == ["/srv/app/src/csv.sh", "/tmp/csv.sh"]


@pytest.mark.sim(scenario="failing-test")
def test_the_agent_sees_a_full_disk_once(world: SimWorld) -> None:
    fault = world.fail("bash", when={"command": re.compile(">")}, error="disk full", times=1)

    assert agent(world, "echo a > notes", "echo a > notes") == ["disk full\n", ""]
    assert fault.fired == 1
