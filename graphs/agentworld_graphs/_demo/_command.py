"""The command: run the agent, reach its world by MCP, show what changed, prove what did not."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentworld_sim.extras import require

if TYPE_CHECKING:
    from agentworld_graphs._demo._trace import Trace
    from agentworld_sim.world import World

RECURSION_LIMIT = 80
"""Steps of the graph before a real model is stopped."""


@click.command()
@click.option(
    "--agent-model",
    metavar="MODEL",
    help="Let this model act instead of the script: any LangChain chat model, for example"
    " 'openai:gpt-5' (its package and key are needed).",
)
@click.option("--keep", is_flag=True, help="Keep the world in your store, to look into it later.")
def demo(agent_model: str | None, keep: bool) -> None:
    """Watch an agent fix a failing test in a machine that does not exist.

    A LangGraph agent with ordinary LangChain tools works in the shipped scenario 'failing-test'. Then
    a real MCP client reaches the same world. At the end: what changed there, and proof that nothing
    changed here. No model, key or network is needed.
    """
    require("langgraph", extra="graphs")
    require("mcp", extra="mcp")
    with tempfile.TemporaryDirectory(prefix="agentworld-demo-") as name:
        if not keep:
            # The shim runs as a process of its own and finds the world by the environment.
            os.environ["AGENTWORLD_HOME"] = name
        sys.exit(asyncio.run(_demo(agent_model)))


async def _demo(agent_model: str | None) -> int:
    from rich.console import Console

    from agentworld_graphs._demo._agent import real_calls
    from agentworld_graphs._demo._trace import Trace, fingerprint
    from agentworld_sim.goals import check_goals
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.store.home import open_store
    from agentworld_sim.world import World

    here, there = await asyncio.to_thread(Path.cwd), Path("/srv/app")
    before = fingerprint(here), fingerprint(there)
    trace = Trace(Console(highlight=False))
    scenario = Scenario.load("failing-test")
    async with await World.create(scenario, store=open_store()) as world:
        trace.begin(scenario.instruction, agent_model or "scripted", world.id)
        trace.section("a LangGraph agent with its own tools")
        await _run_agent(world, agent_model, trace)
        trace.section("the same world, reached by an MCP client")
        await _reach_by_mcp(world.id, trace)
        trace.section("what changed in the world")
        trace.patch(await world.patch())
        results = await check_goals(world)
        trace.goals(results)
        trace.section("what changed on this host")
        same = (fingerprint(here), fingerprint(there)) == before
        trace.proof(same, f"{len(before[0])} files below {here} are as they were")
        trace.proof(same, f"{len(before[1])} files below {there}, as before")
        trace.proof(not real_calls, f"real tools called: {len(real_calls)}")
    return 0 if same and not real_calls and all(result.met for result in results) else 1


async def _run_agent(world: World, model: str | None, trace: Trace) -> None:
    from agentworld_graphs import ScriptedChatModel, simulate_graph
    from agentworld_graphs._demo._agent import TOOLS, chat_model, fix_script, make_agent

    speaks = chat_model(model) if model else ScriptedChatModel(script=fix_script())
    agent = make_agent(speaks, TOOLS)
    # The one line that differs from an agent with real tools.
    graph: Any = simulate_graph(agent, world)
    question = {"messages": [("user", world.scenario.instruction)]}
    async for update in graph.astream(
        question, {"recursion_limit": RECURSION_LIMIT}, stream_mode="updates"
    ):
        for change in update.values():
            for message in change["messages"]:
                trace.message(message)


async def _reach_by_mcp(world_id: str, trace: Trace) -> None:
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "agentworld_sim.cli", "mcp", "--world", world_id],
        env=dict(os.environ),
    )
    async with Client(server) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        trace.call("tools/list", {"command": ", ".join(names)})
        arguments = {"command": "cd /srv/app && make test 2>&1 | tail -n 1 && ls -l src"}
        trace.call("bash", arguments)
        result = await client.call_tool("bash", arguments)
        text = "".join(getattr(part, "text", "") for part in result.content)
        trace.answer(text, "computed", None)
