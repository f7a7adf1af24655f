"""The command `agentworld demo`."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile

import click

from agentworld_sim.extras import require


@click.command()
@click.option(
    "--agent-model",
    metavar="MODEL",
    help="Let this model act instead of the script: any LangChain chat model, for example"
    " 'openai:gpt-5' (its package and key are needed).",
)
@click.option("--keep", is_flag=True, help="Keep the world in your store, to look into it later.")
def demo(agent_model: str | None, keep: bool) -> None:
    """Watch an agent mend a Python package in a machine that does not exist.

    A LangGraph agent with ordinary LangChain tools works in the shipped scenario 'package-bug', where Python and
    pytest are real. Then
    a real MCP client reaches the same world. At the end: what changed there, and proof that nothing
    changed here. No model, key or network is needed.
    """
    require("langgraph", extra="graphs")
    require("mcp", extra="mcp")
    require("wasmtime", extra="machine")
    with tempfile.TemporaryDirectory(prefix="agentworld-demo-") as name:
        if not keep:
            # The shim runs as a process of its own and finds the world by the environment.
            os.environ["AGENTWORLD_STORE"] = f"{name}/worlds.sqlite"
        from agentworld_graphs._demo._demo_run import run_demo

        sys.exit(asyncio.run(run_demo(agent_model)))
