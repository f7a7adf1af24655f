"""Real worlds whose turns become samples, and the same worlds with a model that says what was computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.engines.model import ModelEngine
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer, ScriptedReply
from agentworld_sim.types.turns import Turn
from agentworld_trainers.data import SourceTrajectory, imagined_tools

FILES = {
    "/srv/app/main.py": "import sys\n\nprint(sys.argv)\n",
    "/srv/app/notes.txt": "buy milk\ncall Ann\n",
    "/srv/app/.gitignore": "*.log\n",
}
CODING: tuple[ToolCall, ...] = (
    ToolCall("Bash", {"command": "ls /srv/app"}),
    ToolCall("Read", {"file_path": "/srv/app/notes.txt"}),
    ToolCall("Write", {"file_path": "/srv/app/new.txt", "content": "one\ntwo\n"}),
    ToolCall("Bash", {"command": "cat /srv/app/new.txt | wc -l"}),
    ToolCall("Read", {"file_path": "/srv/app/new.txt"}),
    ToolCall("Read", {"file_path": "/srv/app/gone.txt"}),
    ToolCall("Bash", {"command": "rm /srv/app/notes.txt; true"}),
    ToolCall("bash", {"command": "sort /srv/app/main.py"}),
)
TYPED: tuple[ToolCall, ...] = tuple(
    ToolCall("keystrokes", {"keystrokes": [{"keystrokes": text, "duration": 0.1}]})
    for text in ("cd /srv/app\n", "ls\n", "cat notes.txt\n", "echo hi > hello\n", "cat hello\n")
)


def scenario(**changes: Any) -> Scenario:
    """A machine with a few files."""
    return Scenario.model_validate(
        {"name": "shop", "domains": ("terminal", "swe"), "files": FILES, "seed": 3, **changes}
    )


async def computed(calls: Sequence[ToolCall], **changes: Any) -> SourceTrajectory:
    """The trajectory of a world that computes."""
    made = scenario(**changes)
    async with await World.create(made, model=False) as world:
        for call in calls:
            await world.step(call)
        turns = (await world.trajectory()).turns
        return SourceTrajectory(
            id="t1",
            task="shop",
            turns=turns,
            tools=imagined_tools(world.tools, turns),
            prompt_context=made.model.to_prompt_context(made.instruction, made.machine.env),
            before=await world.state(world.root),
            blobs=world.store.blobs,
        )


async def imagined(
    calls: Sequence[ToolCall],
    answers: Sequence[str],
    settings: Mapping[str, Any] | None = None,
    **changes: Any,
) -> tuple[list[list[dict[str, str]]], tuple[Turn, ...], World]:
    """What a model is sent in the same world when it answers every tool, and the world."""
    left = iter(answers)

    def say(request: ModelRequest) -> ScriptedReply:
        del request
        return ScriptedReply.observation(next(left), thinking="As before.")

    made = scenario(**changes)
    with ScriptedModelServer(say) as server:
        model = WorldModel(ModelSettings(url=server.url, retries=0, **(settings or {})))
        engine = ModelEngine(model.imaginer(made.to_prompt_context()))
        world = await World.create(made, engines=[engine])
        for call in calls:
            await world.step(call)
        sent = [list(request.messages) for request in server.requests]
        await model.close()
        return sent, (await world.trajectory()).turns, world
