"""Tools through which an agent steers itself, and which therefore run as they are.

They touch nothing but the graph they are part of: one writes the agent's list of things to do into its
state, the other hands a task to a subagent, whose own tools are simulated like all others. A world
that answered them would break the agent, and they have no effect outside of it.
"""

from __future__ import annotations

from langchain_core.tools import BaseTool

OWN_TOOLS = frozenset(
    {
        ("langchain.agents.middleware.todo", "write_todos"),
        ("deepagents.middleware.subagents", "task"),
    }
)
"""Where the function of such a tool is defined, and the tool's name. A tool that only has the name is
not one."""


def is_own(tool: BaseTool) -> bool:
    """Whether a tool only steers the agent it belongs to."""
    functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
    homes = {function.__module__ for function in functions if function is not None}
    return len(homes) == 1 and (homes.pop(), tool.name) in OWN_TOOLS
