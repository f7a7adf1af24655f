"""The router: which engine answers which tool. Unknown means refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentworld_sim.engines._base import Engine
from agentworld_sim.tools import ToolSpec


class Router:
    """Chooses the first engine that can answer a tool."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = tuple(engines)

    def bind(self, tool: ToolSpec) -> tuple[ToolSpec, Engine | None]:
        """The tool as bound, and its engine.

        A tool that binds to nothing comes back with access `refuse`.
        """
        if tool.access == "simulate":
            for engine in self.engines:
                bound = engine.bind(tool)
                if bound is not None:
                    return bound, engine
            return replace(tool, access="refuse"), None
        return tool, None

    def refusal(self, tool: ToolSpec) -> str:
        """Why no engine answers `tool`."""
        return " ".join(engine.refusal(tool) for engine in self.engines)
