"""The demo: run the agent, reach its world by MCP, show what changed, prove what did not."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.text import Text

from agentworld_graphs import ScriptedChatModel, simulate_graph
from agentworld_graphs._demo._demo_agent import (
    TOOLS,
    chat_model,
    make_agent,
    package_script,
    real_calls,
)
from agentworld_graphs._thread_refs import marks_of
from agentworld_sim.goals import GoalResult, check_goals
from agentworld_sim.scenario import Scenario
from agentworld_sim.store.home import open_store
from agentworld_sim.world import World
from mcp import Client, StdioServerParameters

COLOURS = {
    "computed": "green",
    "imagined": "magenta",
    "native": "blue",
    "replayed": "cyan",
    "real": "red",
    "enforced": "yellow",
}
"""Of provenances."""

SHOWN_LINES = 14


class Trace:
    """A live account of a run, in the terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin(self, instruction: str, model: str, world_id: str) -> None:
        below = f"agent: {model} · world: {world_id}"
        text = Text(instruction.strip())
        self._console.print(Panel(text, title="[b]the task", subtitle=below, border_style="blue"))

    def section(self, title: str) -> None:
        self._console.print(Rule(f"[b]{title}", style="blue", align="left"))

    def message(self, message: BaseMessage) -> None:
        """One message of the conversation, as it happens."""
        if isinstance(message, AIMessage):
            if message.text:
                self._console.print(Text(message.text, style="italic"))
            for call in message.tool_calls:
                self.call(call["name"], call["args"])
        elif isinstance(message, ToolMessage):
            mark = marks_of(message)
            self.answer(message.text, mark["provenance"] if mark else "real", mark and mark["ref"])

    def call(self, name: str, arguments: dict[str, Any]) -> None:
        shown = arguments.get("command") or "  ".join(
            f"{key}={value!r}" for key, value in arguments.items()
        )
        self._console.print(Text.assemble((f"  {name} ", "bold cyan"), (str(shown), "cyan")))

    def answer(self, text: str, provenance: str, ref: str | None) -> None:
        lines = text.rstrip("\n").split("\n")
        hidden = len(lines) - SHOWN_LINES
        if hidden > 0:
            lines = [*lines[:SHOWN_LINES], f"… {hidden} more lines"]
        for line in lines:
            self._console.print(Text("  │ " + line, style="dim"), soft_wrap=True)
        self._console.print(
            Text.assemble(
                "  └ ",
                (f" {provenance} ", f"reverse {COLOURS[provenance]}"),
                (f"  {ref[:12]}" if ref else "", "dim"),
            )
        )

    def patch(self, patch: str) -> None:
        self._console.print(Syntax(patch.rstrip(), "diff", background_color="default"))

    def goals(self, results: Sequence[GoalResult]) -> None:
        for result in results:
            mark, style = ("✓", "green") if result.met else ("✗", "red")
            self._console.print(Text(f"  {mark} {result.goal}  {result.reason}", style=style))

    def proof(self, proven: bool, text: str) -> None:
        mark, style = ("✓", "green") if proven else ("✗", "bold red")
        self._console.print(Text(f"  {mark} {text}", style=style))


MAX_FILES = 20_000
"""Of the working directory, so that the proof does not take longer than the demo."""


def fingerprint(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Mode, size and time of every file below `folder`, but for caches that Python writes itself."""
    found: dict[str, tuple[int, int, int]] = {}
    for path in islice(folder.rglob("*"), MAX_FILES):
        if "__pycache__" not in path.parts and path.is_file():
            with suppress(OSError):
                info = path.lstat()
                found[str(path)] = (info.st_mode, info.st_size, info.st_mtime_ns)
    return found


async def run_demo(agent_model: str | None) -> int:
    """Runs it, and gives the exit code."""

    here, there = await asyncio.to_thread(Path.cwd), Path("/srv/app")
    before = fingerprint(here), fingerprint(there)
    trace = Trace(Console(highlight=False))
    scenario = Scenario.load("package-bug")
    speaks = chat_model(agent_model) if agent_model else ScriptedChatModel(script=package_script())
    async with await World.create(scenario, store=open_store()) as world:
        trace.begin(scenario.instruction, agent_model or "scripted", world.id)
        trace.section("a LangGraph agent with its own tools")
        await _run_agent(world, speaks, trace)
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


async def _run_agent(world: World, model: BaseChatModel, trace: Trace) -> None:
    agent = make_agent(model, TOOLS)
    # The one line that differs from an agent with real tools.
    graph: Any = simulate_graph(agent, world)
    question = {"messages": [("user", world.scenario.instruction)]}
    # So many steps, before a real model is stopped.
    async for update in graph.astream(question, {"recursion_limit": 80}, stream_mode="updates"):
        for change in update.values():
            for message in change["messages"]:
                trace.message(message)


async def _reach_by_mcp(world_id: str, trace: Trace) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "agentworld_sim.cli", "mcp", "--world", world_id],
        env=dict(os.environ),
    )
    async with Client(server) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        trace.call("tools/list", {"command": ", ".join(names)})
        arguments = {
            "command": "cd /srv/app && python3 -m pytest -q | tail -n 1 && ls -l src/openhours"
        }
        trace.call("bash", arguments)
        result = await client.call_tool("bash", arguments)
        text = "".join(getattr(part, "text", "") for part in result.content)
        trace.answer(text, "computed", None)
