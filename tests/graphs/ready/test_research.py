"""`research`: the agent plans, searches, opens pages and hands in a table."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from agentworld_graphs._demo._research_agent import SCENARIO, TOOLS, research_script
from agentworld_graphs.ready import research
from agentworld_graphs.ready._agent import Agent, store_of_process
from agentworld_sim import World
from agentworld_sim.engines.toolkits.answer import ANSWER
from agentworld_sim.scenario import shipped_scenarios
from tests.data.make_fictional_web import texts
from tests.graphs.ready.conftest import START, answers, call, says


def agent(*script: Any) -> Agent:
    return Agent(tools=TOOLS, scenario=SCENARIO, script=script)


async def test_the_agent_finds_the_answer_and_calls_no_real_tool() -> None:
    state = await research.graph.ainvoke(START)
    assert [goal["met"] for goal in state["goals"]] == [True]
    assert answers(state)[0].startswith("[1] https://")
    # Plan, search and collect are asked for in turn.
    told = [one.content for one in state["messages"] if isinstance(one, HumanMessage)]
    assert told[1:] == [research.PLAN, research.SEARCH, research.COLLECT]


async def test_the_answer_is_handed_in_where_the_thread_stands() -> None:
    state = await research.graph.ainvoke(START)
    world = await World.open(state["world"], store=store_of_process())
    async with world:
        kept = (await world.state(state["sim_ref"])).values[ANSWER]
        assert kept == state["messages"][-1].text
        assert [turn.call.name for turn in (await world.trajectory()).turns][-1] == "submit_answer"


async def test_an_agent_that_answers_from_nothing_is_wrong() -> None:
    graph = research.build(
        agent(says("I know this."), says("No search."), says("| Maker |\n| --- |\n| Orvane |"))
    )
    state = await graph.ainvoke(START)
    (goal,) = state["goals"]
    assert not goal["met"] and "columns" in goal["reason"]


async def test_the_results_of_a_search_do_not_have_the_answer() -> None:
    asked = call("web_search", "c1", queries=["makers founded employees", "Lumuzeta employees"])
    graph = research.build(agent(says("Plan."), says("", asked), says("Done."), says("| Maker |")))
    state = await graph.ainvoke(START)
    gold = research_script()[-1].text.splitlines()[2:]
    for row in gold:
        assert row.split(" | ")[2].rstrip(" |") not in answers(state)[0]


@pytest.mark.parametrize("path", list(texts()), ids=lambda path: path.name)
def test_the_shipped_files_are_those_that_the_family_makes_today(path: Any) -> None:
    assert path.read_text(encoding="utf-8") == texts()[path], (
        "write them with: python -m tests.data.make_fictional_web"
    )
    assert SCENARIO in shipped_scenarios()
