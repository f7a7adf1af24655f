import asyncio

import pytest

from agentworld_fixtures import SimWorld
from agentworld_sim import bind


def bash(command: str) -> str:
    """Runs a command."""
    raise NotImplementedError("the real tool, which is never called")


def agent(world: SimWorld, *, tries: int) -> str:
    """Yours goes here; this one tries again, and says what became of it."""
    (tool,) = bind(world, [bash])
    for _ in range(tries):
        if "full" not in asyncio.run(tool({"command": "echo a > notes"})):
            return "The note is written."
    return "I could not write the note: the disk is full."


def test_the_agent_tries_again(world: SimWorld) -> None:
    fault = world.fail("bash", error="disk full", times=1)
    answer = agent(world, tries=3)
    world.assert_recovered(fault)
    world.assert_no_false_claim(answer)
    world.assert_budget(calls=2, seconds=1)


def test_the_agent_admits_what_it_could_not_do(world: SimWorld) -> None:
    world.fail("bash", error="disk full")
    answer = agent(world, tries=3)
    world.assert_no_false_claim(answer)
    with pytest.raises(AssertionError, match="does not admit what went wrong"):
        world.assert_no_false_claim("The note is written.")
