"""LangGraph and LangChain tools answered by a simulated world.

The tools stay the user's own: same names, schemas, validation, callbacks, events and artifacts. Only
what stands behind them changes. Names are imported on first use, so that importing this package
alone loads no framework.
"""

from typing import Any

import lazy_loader

from agentworld_sim.extras import require

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_WITH_AGENTS = (
    "ModelCallFaults",
    "SimulatedShellMiddleware",
    "SimulatedTools",
    "simulate_graph",
    "simulate_tool_nodes",
)
"""Names that need LangChain's agents; a `SimToolNode` does without."""

_WITH_DEEPAGENTS = ("SimDeepAgentState", "SimulatedSandbox")


def __getattr__(name: str) -> Any:
    if name in __all__:
        require("langchain_core", extra="graphs")
        require("langgraph", extra="graphs")
    if name in _WITH_AGENTS:
        require("langchain", extra="graphs")
    if name in _WITH_DEEPAGENTS:
        require("deepagents", extra="deepagents")
    return _load(name)
