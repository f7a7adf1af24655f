import subprocess

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agentworld_fixtures import ScriptedModels, SimTools, SimWorld


@tool
def bash(command: str) -> str:
    """Run a command in bash."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


FIX = """sed -i 's/read -r record; do/read -r record || [ -n "$record" ]; do/' src/csv.sh"""


def run(command: str) -> AIMessage:
    call = {"name": "bash", "args": {"command": command}, "id": command}
    return AIMessage("", tool_calls=[call])


@pytest.mark.sim(scenario="failing-test")
def test_the_agent_fixes_the_test(
    world: SimWorld, sim_tools: SimTools, scripted_model: ScriptedModels
) -> None:
    # Your model goes here; this one says what it is told to.
    model = scripted_model(run("make test"), run(FIX), "Done.")
    agent = create_agent(model, sim_tools([bash]))  # was: create_agent(model, [bash])
    agent.invoke({"messages": [("user", world.world.scenario.instruction)]})

    world.assert_called("bash", args={"command": "make test"})
    world.assert_goals()


@pytest.mark.asyncio
async def test_the_agent_says_so_when_the_disk_is_full(
    world: SimWorld, sim_tools: SimTools, scripted_model: ScriptedModels
) -> None:
    world.fail("bash", error="bash: cannot create temp file: No space left on device", times=1)
    model = scripted_model(run("echo notes > notes.txt"), "The disk is full.")
    agent = create_agent(model, sim_tools([bash]))
    said = await agent.ainvoke({"messages": [("user", "Write down what we said.")]})

    assert said["messages"][-1].text == "The disk is full."
    assert not world.diff()
