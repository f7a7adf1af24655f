"""No answer is never a result: it ends the run, and the thread can be resumed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from deepagents.backends.protocol import GlobResult
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from agentworld_graphs import SimulatedSandbox, SimulationInterrupted
from agentworld_sim import AccessRefused, Answer, Scenario, World
from agentworld_sim.controls import Control, Next, StepContext
from agentworld_sim.errors import ModelRefused
from agentworld_sim.llm.scripted import ErrorReply, ScriptedModelServer, ScriptedReply
from agentworld_sim.types.turns import Observation

if TYPE_CHECKING:
    from conftest import Deep

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])

EVERY_CALL: list[tuple[str, dict[str, Any]]] = [
    ("ls", {"path": "/"}),
    ("read_file", {"file_path": "/a"}),
    ("write_file", {"file_path": "/a", "content": "x"}),
    ("edit_file", {"file_path": "/b", "old_string": "x", "new_string": "y"}),
    ("delete", {"file_path": "/c"}),
    ("glob", {"pattern": "*"}),
    ("grep", {"pattern": "x"}),
    ("execute", {"command": "true"}),
]


@pytest.mark.promise("failure-raises")
@WAYS
@pytest.mark.parametrize("name, arguments", EVERY_CALL)
async def test_a_world_that_gives_no_answer_ends_the_run(
    deep: Deep, go: Any, way: str, name: str, arguments: dict[str, Any]
) -> None:
    sandbox = SimulatedSandbox()
    await sandbox.world.close()
    agent = deep.agent(sandbox, deep.asks(deep.call(name, **arguments)), saver=InMemorySaver())
    with pytest.raises(SimulationInterrupted, match="is closed"):
        await deep.run(agent, way, go)
    state = agent.get_state({"configurable": {"thread_id": "thread"}})
    assert [message.type for message in state.values["messages"]] == ["human", "ai"]
    assert state.next == ("tools",)


@pytest.mark.promise("model-failure")
@WAYS
async def test_a_thread_is_resumed_when_the_model_is_back(deep: Deep, go: Any, way: str) -> None:
    answer: dict[str, Any] = {"stdout": "pods\n", "stderr": "", "exit_code": 0, "operations": []}
    replies = [ErrorReply(status=400), ScriptedReply(json.dumps(answer))]
    with ScriptedModelServer(replies) as server:
        sandbox = SimulatedSandbox(model=server.url)
        asks = deep.asks(
            deep.call("write_file", "1", file_path="/srv/a", content="x"),
            deep.call("execute", "2", command="kubectl get pods; ls /srv"),
        )
        agent = deep.agent(sandbox, asks, AIMessage("done"), saver=InMemorySaver())
        with pytest.raises(SimulationInterrupted) as told:
            await deep.run(agent, way, go)
        assert isinstance(told.value.error, ModelRefused)
        final = await deep.run(agent, way, None)
        assert deep.answers(final)[-1] == "pods\na\n\n[Command succeeded with exit code 0]"
        await sandbox.world.close()
    turns = (await sandbox.world.trajectory()).turns
    assert [turn.call.name for turn in turns] == ["write_file", "execute"]


async def test_outside_of_a_graph_the_failure_is_what_it_is() -> None:
    sandbox = SimulatedSandbox()
    await sandbox.world.close()
    for ask in (lambda: sandbox.glob("*"), lambda: sandbox.execute("true")):
        with pytest.raises(Exception, match="is closed") as told:
            ask()
        assert not isinstance(told.value, SimulationInterrupted)


@WAYS
async def test_what_the_scenario_refuses_is_refused_when_it_is_called(
    deep: Deep, go: Any, way: str
) -> None:
    scenario = Scenario.model_validate(
        {"name": "no-shell", "domains": ["swe"], "access": {"execute": "refuse"}}
    )
    sandbox = SimulatedSandbox(await World.create(scenario))
    assert sandbox.write("/srv/a", "x").error is None
    with pytest.raises(AccessRefused, match="the scenario's access rules say so"):
        sandbox.execute("true")
    agent = deep.agent(sandbox, deep.asks(deep.call("execute", command="true")))
    with pytest.raises(SimulationInterrupted, match="the scenario's access rules say so"):
        await deep.run(agent, way, go)


class Broken(Control):
    """Makes tools fail, as a scenario's controls do."""

    name = "broken"

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return step.enforce(Observation(text=f"{step.call.name}: no space left", is_error=True))


async def test_what_a_control_enforces_is_what_the_agent_is_told(deep: Deep, go: Any) -> None:
    world = await World.create(controls=[Broken()])
    asks = deep.asks(
        *(deep.call(name, str(n), **given) for n, (name, given) in enumerate(EVERY_CALL))
    )
    agent = deep.agent(SimulatedSandbox(world), asks, AIMessage("done"))
    final = await deep.run(agent, "ainvoke", go)
    assert deep.answers(final) == [
        "Error: ls: no space left",
        "Error: read_file: no space left",
        "write_file: no space left",
        "edit_file: no space left",
        "delete: no space left",
        "Error: glob: no space left",
        "grep: no space left",
        "execute: no space left\n[Command failed with exit code 1]",
    ]


async def test_a_glob_without_an_answer_raises_when_it_is_looked_at(deep: Deep, go: Any) -> None:
    """The canary of a trap: deepagents makes a message of every exception that `glob` raises."""
    sandbox = SimulatedSandbox()
    await sandbox.world.close()
    found: list[GlobResult] = []

    class Looks(SimulatedSandbox):
        async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
            found.append(await super().aglob(pattern, path))
            return found[0]

    looks = Looks(sandbox.world)
    agent = deep.agent(looks, deep.asks(deep.call("glob", pattern="*")))
    with pytest.raises(SimulationInterrupted):
        await deep.run(agent, "ainvoke", go)
    for look in (lambda: found[0].matches, lambda: found[0].truncated, lambda: bool(found[0])):
        with pytest.raises(SimulationInterrupted):
            look()
    assert repr(found[0]) == "InterruptedGlob()"
