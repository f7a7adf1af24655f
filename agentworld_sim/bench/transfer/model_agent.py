"""An agent that a served model drives: it calls a task's tools until it answers without a call."""

from __future__ import annotations

from agentworld_sim.bench.transfer.places import PlaceAnswer, WorldPlace
from agentworld_sim.bench.transfer.scripted_agents import Play
from agentworld_sim.bench.transfer.transfer_task import TransferTask
from agentworld_sim.episode import offered_tools, unknown_tool
from agentworld_sim.errors import ContextOverflow
from agentworld_sim.llm.chat import ChatMessage, ChatRequest
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.rollouts import hermes
from agentworld_sim.rollouts.world_task import SYSTEM
from agentworld_sim.types.tools import ToolCall

TURNS = 30
TURN_TOKENS = 8_192
PAGE_TOOLS = tuple(
    f"browser_{verb}" for verb in ("navigate", "snapshot", "click", "type", "select_option")
)
"""Those that are replayed in a real browser."""


async def play_with_model(client: ChatClient, task: TransferTask, place: WorldPlace) -> Play:
    """Lets a model do a task. It is not done where it has not ended in `TURNS` turns, or its context is full.

    Raises:
        ModelFailure: the server does not answer.
    """
    tools = await offered_tools(place.world, PAGE_TOOLS if task.kind == "web" else None)
    told = hermes.tools_text(hermes.tool_objects(tools.values()))
    messages = [
        ChatMessage("system", f"{SYSTEM}\n\n{told}"),
        ChatMessage("user", task.scenario.instruction),
    ]
    done: list[tuple[ToolCall, PlaceAnswer]] = []
    finished = False
    for _ in range(TURNS):
        request = ChatRequest(messages=tuple(messages), max_tokens=TURN_TOKENS, seed=0)
        try:
            text = (await client.ask(request)).content
        except ContextOverflow:
            break
        calls = hermes.parse_calls(text)
        if not calls:
            finished = True
            break
        said: list[str] = []
        for call in calls:
            if isinstance(call, hermes.MalformedCall):
                said.append(call.problem)
            elif call.name not in tools:
                said.append(unknown_tool(call.name, tools))
            else:
                answer = await place.call(call)
                said.append(answer.text)
                if answer.accepted:
                    done.append((call, answer))
        messages += [
            ChatMessage("assistant", text),
            ChatMessage("user", "\n".join(map(hermes.response_text, said))),
        ]
    return Play(tuple(call for call, _ in done), tuple(one for _, one in done), finished)
