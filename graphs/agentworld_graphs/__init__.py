"""LangGraph and LangChain tools answered by a simulated world.

The tools stay the user's own: same names, schemas, validation, callbacks, events and artifacts. Only
what stands behind them changes. Names are imported on first use, so that importing this package
alone loads no framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentworld_sim.extras import require

if TYPE_CHECKING:
    from agentworld_graphs._browser_toolkit import SimulatedBrowserToolkit
    from agentworld_graphs._deepagents_backend import SimDeepAgentState, SimulatedSandbox
    from agentworld_graphs._interruption import SimulationInterrupted
    from agentworld_graphs._middleware import SimulatedShellMiddleware, SimulatedTools
    from agentworld_graphs._scripted import ExpectedAnswer, ScriptedChatModel, ScriptMismatch
    from agentworld_graphs._simulate import SimulatedTool, simulate
    from agentworld_graphs._simulate_graph import simulate_graph, simulate_tool_nodes
    from agentworld_graphs._thread_refs import SimState, ref_in
    from agentworld_graphs._tool_node import SimToolNode
    from agentworld_graphs._world_handle import ToolOptions, WorldOptions

__all__ = [
    "ExpectedAnswer",
    "ScriptMismatch",
    "ScriptedChatModel",
    "SimDeepAgentState",
    "SimState",
    "SimToolNode",
    "SimulatedBrowserToolkit",
    "SimulatedSandbox",
    "SimulatedShellMiddleware",
    "SimulatedTool",
    "SimulatedTools",
    "SimulationInterrupted",
    "ToolOptions",
    "WorldOptions",
    "ref_in",
    "simulate",
    "simulate_graph",
    "simulate_tool_nodes",
]

_MODULES = {
    "_browser_toolkit": ["SimulatedBrowserToolkit"],
    "_deepagents_backend": ["SimDeepAgentState", "SimulatedSandbox"],
    "_interruption": ["SimulationInterrupted"],
    "_middleware": ["SimulatedShellMiddleware", "SimulatedTools"],
    "_scripted": ["ExpectedAnswer", "ScriptMismatch", "ScriptedChatModel"],
    "_simulate": ["SimulatedTool", "simulate"],
    "_simulate_graph": ["simulate_graph", "simulate_tool_nodes"],
    "_thread_refs": ["SimState", "ref_in"],
    "_tool_node": ["SimToolNode"],
    "_world_handle": ["ToolOptions", "WorldOptions"],
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

_HOMES_WITH_AGENTS = ("_middleware", "_simulate_graph")
"""Those that need LangChain's agents; a `SimToolNode` does without."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require("langchain_core", extra="graphs")
    require("langgraph", extra="graphs")
    if _HOMES[name] in _HOMES_WITH_AGENTS:
        require("langchain", extra="graphs")
    if _HOMES[name].startswith("_deepagents"):
        require("deepagents", extra="deepagents")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
