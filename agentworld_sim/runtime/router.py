"""The router: which engine answers which tool. Unknown means refuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agentworld_sim.ports import BindsTogether, Engine
from agentworld_sim.types.tools import Route, ToolSpec


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
        return self.bind_all([(tool, route)])[0]

    def bind_all(
        self, tools: Sequence[tuple[ToolSpec, Route | None]], beside: Iterable[ToolSpec] = ()
    ) -> list[tuple[ToolSpec, Engine | None]]:
        """As `bind` for tools that are offered together: what one does may show in another.

        Args:
            tools: The tools, each with how it shall be answered.
            beside: Tools of the same world that are bound already.

        Raises:
            UsageError: a tool's `binds_to` names nothing, or what takes other arguments.
        """
        # Imported late: nobody needs the toolkits before a tool is bound.
        from agentworld_sim.toolkits import check_toolkit

        others = {engine.name for engine in self.engines} | _ENGINES
        for tool, _ in tools:
            if tool.access == "simulate":
                check_toolkit(tool, sorted(others))
        known = list(beside)
        bound: list[tuple[ToolSpec, Engine | None]] = [(tool, None) for tool, _ in tools]
        for engine in self.engines:
            if all(found or tool.access != "simulate" for tool, found in bound):
                break
            among = [*known, *(tool for tool, _ in bound)]
            bind = engine.binder(among) if isinstance(engine, BindsTogether) else engine.bind
            for number, (tool, route) in enumerate(tools):
                free = bound[number][1] is None and tool.access == "simulate"
                if not free or route not in (None, engine.route):
                    continue
                found = bind(tool)
                if found is not None:
                    bound[number] = found, engine
        return [
            (tool, engine)
            if engine is not None or tool.access != "simulate"
            else (replace(tool, access="refuse"), None)
            for tool, engine in bound
        ]

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
        return " ".join(why for engine in asked if (why := engine.refusal(tool)))


_ENGINES = frozenset({"function", "model", "replay", "table"})
"""What bindings of the library's own engines begin with, also where a world does not have them."""

_NO_MODEL = " Name a language world model: AGENTWORLD_MODEL_URL, or `model=`."
