"""The router: which engine answers which tool. Unknown means refuse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from agentworld_sim.engines.stubs import StubEngine
from agentworld_sim.ports import BindsTogether, Engine
from agentworld_sim.types.tools import Route, ToolSpec

Bound = tuple[ToolSpec, Engine | None]
"""A tool as bound, and its engine."""


class Router:
    """Chooses the first engine that can answer a tool."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        self.engines = tuple(engines)
        self._stubs = next((one for one in self.engines if isinstance(one, StubEngine)), None)

    def with_answers(
        self, answers: Mapping[str, object], tools: Mapping[str, Bound]
    ) -> tuple[Router, dict[str, Bound]]:
        """A router whose stubs have more answers, or others, and the tools as it binds them.

        Raises:
            UsageError: one is nothing that can be answered with, or its name misspells that of a tool.
        """
        stubs = (self._stubs or StubEngine()).with_answers(answers, tools)
        router = Router([stubs, *(one for one in self.engines if one is not self._stubs)])
        bound = dict(tools)
        for name, (tool, engine) in tools.items():
            if name in answers or (engine is not None and engine is self._stubs):
                bound[name] = stubs.bind_stub(replace(tool, access="simulate")), stubs
        return router, bound

    def require_answers_named(self, tools: Collection[str]) -> None:
        """Raises `UsageError` where the name of an answer misspells that of a tool."""
        if self._stubs is not None:
            self._stubs.require_named(tools)

    def bind(self, tool: ToolSpec, route: Route | None = None) -> Bound:
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
    ) -> list[Bound]:
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
        bound: list[Bound] = [(tool, None) for tool, _ in tools]
        for engine in self.engines:
            if all(found or tool.access != "simulate" for tool, found in bound):
                break
            among = [*known, *(tool for tool, _ in bound)]
            bind = engine.binder(among) if isinstance(engine, BindsTogether) else engine.bind
            for number, (tool, route) in enumerate(tools):
                free = bound[number][1] is None and tool.access == "simulate"
                if not free or not self._allows(route, engine):
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

    def _allows(self, route: Route | None, engine: Engine) -> bool:
        return route in (None, engine.route) or (engine is self._stubs and route != "refuse")

    def refusal(self, tool: ToolSpec, route: Route | None = None) -> str:
        """Why no engine answers `tool`, and what to write so that one does."""
        if route == "refuse":
            return "The scenario's routes say so."
        asked = [engine for engine in self.engines if route in (None, engine.route)]
        if not asked:
            return (
                f"Its route is {route!r}, and this world has no engine for that."
                f"{_NO_MODEL if route == 'imagine' else ''}"
            )
        known = " ".join(why for engine in asked if (why := engine.refusal(tool)))
        model = "" if any(one.route == "imagine" for one in self.engines) else _OR_A_MODEL
        return (
            f"Give it an answer (answers={{{tool.name!r}: …}}), say which known tool it is (binds_to=…){model}."
            f" {known}"
        ).rstrip()


_ENGINES = frozenset({"function", "model", "replay", "stub", "table"})
"""What bindings of the library's own engines begin with, also where a world does not have them."""

_OR_A_MODEL = ", or name a language world model (AGENTWORLD_MODEL_URL, model=…)"

_NO_MODEL = " Name a language world model: AGENTWORLD_MODEL_URL, or `model=`."
