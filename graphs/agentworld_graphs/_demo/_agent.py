"""The demo's agent, written as anybody would write it. Nothing here knows of a simulation."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] -- it has none
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.graph.state import (  # pyright: ignore[reportMissingTypeStubs] -- it has none
    CompiledStateGraph,
)
from langgraph.prebuilt import ToolNode

real_calls: list[str] = []
"""Every call of a real tool's body. The demo shows that it stays empty."""


@tool
def bash(command: str) -> str:
    """Run a command in bash."""
    real_calls.append(command)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@tool
def read_file(file_path: str) -> str:
    """Read a file."""
    real_calls.append(file_path)
    return Path(file_path).read_text(encoding="utf-8")


@tool
def edit_file(file_path: str, old_string: str, new_string: str) -> str:
    """Replace a piece of a file."""
    real_calls.append(file_path)
    file = Path(file_path)
    file.write_text(file.read_text(encoding="utf-8").replace(old_string, new_string))
    return f"Edited {file_path}"


TOOLS: list[BaseTool] = [bash, read_file, edit_file]


def agent(
    model: BaseChatModel, tool_node: ToolNode, tools: list[BaseTool]
) -> CompiledStateGraph[MessagesState, None, MessagesState, MessagesState]:
    """The smallest agent: the model, its tools, and back until it has no more calls."""
    bound: Any = model.bind_tools(tools)  # pyright: ignore[reportUnknownMemberType]

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await bound.ainvoke(state["messages"])]}

    def goes_on(state: MessagesState) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else END

    graph: Any = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", tool_node)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", goes_on, ["tools", END])
    graph.add_edge("tools", "think")
    return graph.compile()


def _says(text: str, name: str = "", **arguments: Any) -> Callable[[int], AIMessage]:
    def message(number: int) -> AIMessage:
        calls = [{"name": name, "args": arguments, "id": f"call-{number}"}] if name else []
        return AIMessage(text, tool_calls=calls)

    return message


_CSV = "/srv/app/src/csv.sh"
_STEPS = [
    _says("First the failing test.", "bash", command="cd /srv/app && make test 2>&1 | tail -n 16"),
    _says("Only the market's export is wrong: its sum is too small.", "read_file", file_path=_CSV),
    _says(
        "`read` fails on a last line without a newline. Does the file end with one?",
        "bash",
        command="tail -c 20 data/market.csv | od -c | tail -n 3; wc -l data/*.csv",
    ),
    _says(
        "It does not, so the loop drops the last record. It must go on while something was read.",
        "edit_file",
        file_path=_CSV,
        old_string="while IFS= read -r record; do",
        new_string='while IFS= read -r record || [ -n "$record" ]; do',
    ),
    _says("And once more.", "bash", command="make test 2>&1 | tail -n 4"),
    _says("All 14 tests pass: the last record counts now, with or without a final newline."),
]


def script() -> list[AIMessage]:
    """What the scripted model says. Its answers do not depend on what the tools answer."""
    return [step(number) for number, step in enumerate(_STEPS, 1)]
