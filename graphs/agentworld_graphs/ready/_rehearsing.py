"""What a call would do: found out on a fork, and put to a person."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from typing_extensions import TypedDict

from agentworld_graphs.ready._agent import TURNED_DOWN, State
from agentworld_graphs.ready._worlds import call_of, forked
from agentworld_sim import World, WorldRef


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


async def rehearsed(world: World, call: Any, at: WorldRef) -> Rehearsal | None:
    """What a call would do; `None` for one that the tool itself turns down."""
    async with forked(world, at) as fork:
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


def question(seen: Rehearsal, real: bool, word: str, note: str) -> dict[str, Any]:
    """What a person is shown."""
    return {
        "question": f"Run {seen['call']['name']} {'for real' if real else 'in the world'}?",
        **seen,
        "runs": "for real" if real else "in the world",
        "note": note,
        "to_approve": {"approve": word},
        "to_refuse": {"refuse": "your reason, for the agent"},
    }


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
