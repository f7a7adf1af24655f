"""The router: which engine answers which tool. Unknown means refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentworld_sim.engines._base import Engine
from agentworld_sim.tools import Route, ToolSpec


class Router:
    """Chooses the first engine that can answer a tool."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = tuple(engines)

    def bind(self, tool: ToolSpec, route: Route | None = None) -> tuple[ToolSpec, Engine | None]:
        """The tool as bound, and its engine.

        Args:
            tool: The tool.
            route: How it shall be answered; `None` for the first engine that can.

        Returns:
            The tool; with access `refuse` and no engine when it binds to nothing.
        """
        if tool.access != "simulate":
            return tool, None
        for engine in self.engines:
            if route not in (None, engine.route):
                continue
            bound = engine.bind(tool)
            if bound is not None:
                return bound, engine
        return replace(tool, access="refuse"), None

    def refusal(self, tool: ToolSpec, route: Route | None = None) -> str:
        """Why no engine answers `tool`."""
        if route == "refuse":
            return "The scenario's routes say so."
        asked = [engine for engine in self.engines if route in (None, engine.route)]
        if not asked:
            return (
                f"Its route is {route!r}, and this world has no engine for that."
                f"{_NO_MODEL if route == 'imagine' else ''}"
            )
        return " ".join(engine.refusal(tool) for engine in asked)


_NO_MODEL = " Name a language world model: AGENTWORLD_MODEL_URL, or `model=`."
