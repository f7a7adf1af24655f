"""Faults on the model calls of an agent made with `create_agent`."""

from __future__ import annotations

from typing import Any, cast

import openai
import pytest
from langchain import agents
from langchain.agents.middleware import ModelRetryMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from agentworld_graphs import ModelCallFaults, ScriptedChatModel
from agentworld_sim.proxy import FaultSchedule, ModelFault
from agentworld_sim.proxy.model_faults import REFUSAL


@tool
def search(query: str) -> str:
    """Searches."""
    return f"found {query}"


def agent(*faults: ModelFault, around: Any = ()) -> tuple[Any, ModelCallFaults]:
    model = ScriptedChatModel(script=["the answer"])
    struck = ModelCallFaults(FaultSchedule(faults))
    return cast("Any", agents).create_agent(model, [search], middleware=[*around, struck]), struck


async def ask(made: Any, asynchronous: bool) -> AIMessage:
    given = {"messages": [HumanMessage("hi")]}
    state = await made.ainvoke(given) if asynchronous else made.invoke(given)
    return state["messages"][-1]


both_ways = pytest.mark.parametrize("asynchronous", [False, True])


@both_ways
async def test_messages_of_the_model_are_refusals_nothing_and_malformed_calls(
    asynchronous: bool,
) -> None:
    made, struck = agent(
        ModelFault(kind="refusal", nth=(1,)),
        ModelFault(kind="empty", nth=(2,)),
        ModelFault(kind="malformed-call", nth=(3,)),
        ModelFault(kind="slow-first-token", nth=(4,), seconds=0.001),
    )
    said = [await ask(made, asynchronous) for _ in range(5)]
    assert [one.text for one in said] == [REFUSAL, "", "", "the answer", "the answer"]
    (call,) = said[2].invalid_tool_calls
    assert (call["name"], call["args"]) == ("search", '{"')
    assert set(struck.schedule.struck.values()) == {1}


@both_ways
@pytest.mark.parametrize(
    ("kind", "error"),
    [("rate-limit", openai.RateLimitError), ("cut-stream", openai.APIConnectionError)],
)
async def test_what_the_network_does_is_raised_and_what_retries_mends_it(
    kind: Any, error: type[Exception], asynchronous: bool
) -> None:
    made, _ = agent(ModelFault(kind=kind, times=1))
    with pytest.raises(error):
        await ask(made, asynchronous)
    again = ModelRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)
    made, struck = agent(ModelFault(kind=kind, times=1), around=[again])
    assert (await ask(made, asynchronous)).text == "the answer"
    assert struck.schedule.struck == {kind: 1}
