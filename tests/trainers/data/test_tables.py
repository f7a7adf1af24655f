"""Tools on records: structured answers as samples."""

from __future__ import annotations

from typing import Any

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.checks import judge_all
from agentworld_sim.engines.model import ModelEngine
from agentworld_sim.engines.table import Argument, Operation, Output, TableEngine
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from agentworld_sim.ports import Engine
from agentworld_sim.scoring import PredictionSample, check_input, checks_of, read_observation
from agentworld_trainers.data import SourceTrajectory, imagined_tools, samples_of

NOTE: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "text": {"type": "string"}},
    "required": ["id", "text"],
}
TOOLS = tuple(
    ToolSpec(
        name=name,
        domain="mcp",
        input_schema={"type": "object", "properties": {argument: {"type": kind}}},
        output_schema=NOTE,
    )
    for name, argument, kind in (("create_note", "text", "string"), ("get_note", "id", "integer"))
)
OPERATIONS = {
    "create_note": Operation(
        tool="create_note",
        does="create",
        table="notes",
        arguments={"text": Argument("field", "text")},
        output=Output(schema=NOTE),
    ),
    "get_note": Operation(
        tool="get_note",
        does="read",
        table="notes",
        arguments={"id": Argument("key")},
        output=Output(schema=NOTE),
    ),
}
CALLS = (
    ToolCall("create_note", {"text": "buy milk"}),
    ToolCall("create_note", {"text": "call Ann"}),
)
NOTES = Scenario.model_validate({"name": "notes", "domains": ("mcp",)})


async def opened(engine: Engine) -> World:
    world = await World.create(NOTES, engines=[engine])
    world.add_tools(TOOLS)
    return world


async def samples() -> list[PredictionSample]:
    async with await opened(TableEngine(operations=OPERATIONS)) as world:
        created = [await world.step(call) for call in CALLS]
        wanted = created[-1].observation.structured["id"]
        for _ in range(2):
            await world.step(ToolCall("get_note", {"id": wanted}))
        turns = (await world.trajectory()).turns
        source = SourceTrajectory(
            id="t",
            task="notes",
            turns=turns,
            tools=imagined_tools(world.tools, turns),
            before=await world.state(world.root),
            blobs=world.store.blobs,
        )
        return samples_of(source)


async def test_structured_answers_are_asked_for_as_a_model_engine_asks() -> None:
    made = await samples()
    left = iter(made)
    with ScriptedModelServer(lambda _: ScriptedReply.observation(next(left).observation)) as server:
        model = WorldModel(ModelSettings(url=server.url, retries=0))
        async with await opened(ModelEngine(model.imaginer())) as world:
            for sample in made:
                assert sample.evidence is not None
                call = sample.evidence["call"]
                turn = await world.step(ToolCall(call["name"], call["arguments"]))
                assert turn.observation.structured is not None
        await model.close()
        sent = [list(request.messages) for request in server.requests]
    assert [list(one.messages) for one in made] == sent


async def test_checks_judge_structured_predictions() -> None:
    sample = (await samples())[-1]

    def refused(text: str) -> list[str]:
        given = check_input(sample, read_observation(sample, text))
        assert given is not None
        return [one.check for one in judge_all(checks_of("mcp"), given) if not one.accepted]

    assert refused(sample.observation) == []
    assert refused(sample.observation.replace("call Ann", "call Bob")) == ["stable-ids"]
    assert refused('{"id": "two"}') == ["output-schema"]
