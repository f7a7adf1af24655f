"""`rehearse`: a destructive call is shown to a person before it happens.

Every call is first made on a fork of the world. What that changes is known then: as a patch, as the files
that are gone, as the records that are others. A call that destroys nothing simply happens, in the world.
For one that does, and for every call of a tool that may run for real, the graph stops (`interrupt`) and
shows it. The person answers with what the question says, for example

    Command(resume={"approve": "8f2c…"})

The word after `approve` names this very call, with these arguments, at this point: an approval is good for
nothing else, and once. Going back in time and running on asks again.
"""

from __future__ import annotations

from itertools import count
from typing import Any, NotRequired, cast

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] -- it has none
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from agentworld_graphs._demo._demo_agent import tidy_script
from agentworld_graphs._interruption import interrupting
from agentworld_graphs.ready._agent import (
    TURNED_DOWN,
    Agent,
    RealSettings,
    State,
    Steps,
    agent_of,
    call_of,
    name_of,
    temporary_fork,
)
from agentworld_sim import World, WorldRef

__all__ = ["Rehearsal", "build", "graph"]


NO_ANSWER = "The last answer neither approved this very call nor refused it."
BEGUN = "This call was approved and begun before. Approve it again to make it again."


class Rehearsal(TypedDict):
    """What a call did on a fork."""

    call: Any
    at: WorldRef
    """Where in the world's history."""
    answer: str
    """What the tool said."""
    patch: str
    """What changed in text files, as git writes it."""
    changed: list[str]
    """What changed in files, one line each: `D /srv/app/data/market.csv`."""
    deleted: list[str]
    """The files that are gone."""
    records: list[str]
    """What changed in records, one line each: `D orders/7  {"id":7,"item":"chair"}`."""
    destroys: bool
    """Whether something is gone or another than it was."""


async def rehearse_call(world: World, call: Any, at: WorldRef) -> Rehearsal | None:
    """What a call would do; `None` for one that the tool itself turns down."""
    async with temporary_fork(world, at) as fork:
        try:
            turn = await fork.step(call_of(call))
        except TURNED_DOWN:
            return None
        diff = await fork.diff(at)
        return Rehearsal(
            call=call,
            at=at,
            answer=turn.observation.text,
            patch=await fork.patch(at),
            changed=[str(change) for change in diff.files],
            deleted=[change.path for change in diff.files if change.kind == "removed"],
            records=[str(change) for change in diff.records],
            destroys=any(change.kind != "added" for change in (*diff.files, *diff.records)),
        )


def open_calls(state: State) -> list[Any]:
    """The calls of the agent's last message that have no answer yet."""
    answered: set[str] = set()
    # Ids are the model's, and it may use one again: only what came after the message counts.
    for message in reversed(state["messages"]):
        if isinstance(message, AIMessage):
            return [call for call in message.tool_calls if call["id"] not in answered]
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
    return []


class Thread(State):
    """A thread of `rehearse`."""

    rehearsal: NotRequired[Rehearsal | None]
    """Of the call that is decided on."""


class RehearseSteps(Steps):
    """The nodes."""

    async def rehearse(self, state: Thread, runtime: Runtime[RealSettings]) -> dict[str, Any]:
        world = await self.who.world(state, RealSettings.of(runtime))
        with interrupting():
            seen = await rehearse_call(
                world, open_calls(state)[0], state.get("sim_ref", world.root)
            )
        return {"rehearsal": seen}

    async def decide(
        self, state: Thread, config: RunnableConfig, runtime: Runtime[RealSettings]
    ) -> Any:
        settings = RealSettings.of(runtime)
        call, seen = open_calls(state)[0], state.get("rehearsal")
        if seen is not None and (seen["call"], seen["at"]) != (call, state.get("sim_ref")):
            # Somebody changed the thread since: what would be shown is not what would run.
            return Command(goto="rehearse")
        # What could not be rehearsed was turned down by the world: the agent is told so, and no more.
        real = seen is not None and call["name"] in self.who.allowed_tools(settings.allow_real)
        if seen is not None and (seen["destroys"] or real):
            refusal = await self.ask_person(seen, call, real, state, settings)
            if refusal is not None:
                return {"messages": [refusal]}
        return await self.who.answer(call, state, config, settings, real=real)

    async def ask_person(
        self, seen: Rehearsal, call: Any, real: bool, state: Thread, settings: RealSettings
    ) -> ToolMessage | None:
        """Asks a person until there is an answer; the message for the agent if it is a refusal."""
        note = ""
        for number in count(1):
            # Whoever approves, approves of this: what runs, where, and as which try.
            word = name_of(call, state, "real" if real else "world", number)
            runs = "for real" if real else "in the world"
            said: object = interrupt(
                {
                    "question": f"Run {call['name']} {runs}?",
                    **seen,
                    "runs": runs,
                    "note": note,
                    "to_approve": {"approve": word},
                    "to_refuse": {"refuse": "your reason, for the agent"},
                }
            )
            answer = cast("dict[str, Any]", said) if isinstance(said, dict) else {}
            if "refuse" in answer:
                text = f"The user refused this call: {answer['refuse'] or 'no reason given'}"
                return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
            if answer.get("approve") != word:
                # LangGraph may give an answer again that an earlier question got.
                note = note or NO_ANSWER
            elif not real or await self.who.claim(word, state, settings):
                return None
            else:
                note = BEGUN
        raise AssertionError("it counts for ever")

    def goes_on(self, state: Thread) -> str:
        last = state["messages"][-1]
        if isinstance(last, AIMessage) and not last.tool_calls:
            return END
        return "rehearse" if open_calls(state) else "think"


def build(agent: Agent | None = None) -> Any:
    """The graph.

    Args:
        agent: Your own; one that tidies up too much by default.
    """
    steps = RehearseSteps(agent_of(agent, script=tidy_script()))
    made: Any = StateGraph(Thread, context_schema=RealSettings, input_schema=MessagesState)
    made.add_sequence([steps.begin, steps.think])
    made.add_sequence([steps.rehearse, steps.decide])
    made.add_edge(START, "begin")
    made.add_conditional_edges("think", steps.goes_on, ["rehearse", END])
    made.add_conditional_edges("decide", steps.goes_on, ["rehearse", "think"])
    return made.compile(name="rehearse")


graph = build()
