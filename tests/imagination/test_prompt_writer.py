"""One writer for what a model is sent: worlds ask with it, and training samples are made with it."""

from __future__ import annotations

from agentworld_sim import ToolCall, ToolSpec
from agentworld_sim.engines.call_question import call_prompt
from agentworld_sim.imagination import PromptSet
from agentworld_sim.imagination.conversation import PromptWriter
from agentworld_sim.llm.scripted import ScriptedReply
from agentworld_sim.ports import PromptContext
from agentworld_sim.types.turns import Action, Turn
from tests.imagination.conftest import Open, always

FIND = ToolSpec(name="find", domain="mcp", input_schema={"type": "object", "properties": {}})
CALL = ToolCall("find", {"what": "milk", "amount": 2})


async def test_it_writes_what_a_world_sends(imagining: Open) -> None:
    opened = await imagining(always(ScriptedReply.observation("Found.")), tools=(FIND,))
    for _ in range(3):
        await opened.world.step(CALL)
    turns = (await opened.world.trajectory()).turns
    assert opened.world.model is not None
    writer = PromptWriter(PromptSet.default(), PromptContext())
    written = [
        writer.conversation(
            call_prompt(CALL, FIND, tools=opened.world.tools, history=turns[:number])
        )
        for number in range(3)
    ]
    told = [
        [{"role": one.role, "content": one.content} for one in each.messages(budget_tokens=10**6)]
        for each in written
    ]
    assert [list(request.messages) for request in opened.server.requests] == told


async def test_the_recorded_action_keeps_the_order_that_a_record_loses(imagining: Open) -> None:
    opened = await imagining(always(ScriptedReply.observation("Found.")), tools=(FIND,))
    turn = Turn.from_line((await opened.world.step(CALL)).to_line())
    writer = PromptWriter(PromptSet.default())

    def last(action: Action | None) -> str:
        prompt = call_prompt(turn.call, FIND, tools={"find": FIND}, history=(), action=action)
        return writer.conversation(prompt).messages(budget_tokens=10**6)[-1].content

    assert last(turn.action) == opened.server.requests[0].messages[-1]["content"]
    assert last(None) != last(turn.action)
