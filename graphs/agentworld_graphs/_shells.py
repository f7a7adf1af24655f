"""LangChain's `ShellToolMiddleware`: it starts a real shell before the first tool is called."""

from __future__ import annotations

from langchain_core.tools import BaseTool

HOME = "langchain.agents.middleware.shell_tool"

REASON = (
    "ShellToolMiddleware starts a real shell and runs its startup commands on this machine before any"
    " tool is called. Put SimulatedShellMiddleware in its place."
)


def starts_real_shell(tool: BaseTool) -> str | None:
    """Why a tool is refused that comes with a real shell; `None` for any other."""
    function = getattr(tool, "func", None)
    return f"{tool.name!r}: {REASON}" if getattr(function, "__module__", None) == HOME else None
