"""Who answers a tool: access rules, by its name, by a pattern, or by what its annotations say; and the router, which
chooses the engine. Unknown means refuse."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, TypeVar, cast, get_args

from agentworld_sim.engines.stubs import StubEngine
from agentworld_sim.errors import UnknownToolError, UsageError, nearest
from agentworld_sim.ports import BindsTogether, Engine
from agentworld_sim.types.tools import Access, Route, ToolSpec

R = TypeVar("R")

HINTS: Mapping[str, tuple[str, bool]] = {
    "@read-only": ("readOnlyHint", False),
    "@destructive": ("destructiveHint", True),
    "@idempotent": ("idempotentHint", False),
    "@open-world": ("openWorldHint", True),
}
"""Rule to annotation, and what a tool without that annotation counts as. (Model Context Protocol,
specification 2025-06-18, ToolAnnotations.)"""


def rule_for(name: str, rules: Mapping[str, R]) -> R | None:
    """What rules say of a name: its own entry first, then the first pattern that fits."""
    if name in rules:
        return rules[name]
    return next((rule for glob, rule in rules.items() if fnmatchcase(name, glob)), None)


def access_for(tool: ToolSpec, rules: Mapping[str, Access]) -> Access | None:
    """What access rules say of a tool: its name, then patterns, then annotations; `None` for nothing.

    Annotations are hints of a server that nobody vouches for, so no rule lets them open anything:
    `checked_access` refuses `real` for them.
    """
    named = rule_for(tool.name, rules)
    if named is not None:
        return named
    return next(
        (access for rule, access in rules.items() if rule in HINTS and _has(tool, rule)), None
    )


def access_problem(rule: str, access: str) -> str | None:
    """What is wrong with one access rule; `None` when it may stand."""
    if rule.startswith("@"):
        if rule not in HINTS:
            return f"there is no annotation rule {rule!r}.{nearest(rule, HINTS)} There are: {', '.join(HINTS)}."
        if access == "real":
            return (
                "found 'real' for an annotation; allowed: simulate, refuse. A server's annotations are"
                " hints: real tools are named one by one, in full."
            )
    elif access == "real" and any(sign in rule for sign in "*?["):
        return (
            "found 'real' for a pattern; allowed: simulate, refuse. Real tools are named one by one,"
            " in full."
        )
    return None


def unknown_tool(name: str, tools: Iterable[str]) -> UnknownToolError:
    """What is raised for a tool that a world does not have."""
    return UnknownToolError(
        f"this world has no tool {name!r}.{nearest(name, tools)} It has: {', '.join(tools) or 'none'}."
        " Add tools in the scenario or with `world.add_tools`."
    )


def checked_access(rules: Mapping[str, str]) -> dict[str, Access]:
    """The rules as access rules.

    Raises:
        UsageError: one may not stand, or is no access.
    """
    checked: dict[str, Access] = {}
    for rule, access in rules.items():
        if access not in get_args(Access):
            raise UsageError(
                f"access rule {rule}={access}: {access!r} is no access.{nearest(access, get_args(Access))}"
                f" There are: {', '.join(get_args(Access))}."
            )
        if (problem := access_problem(rule, access)) is not None:
            raise UsageError(f"access rule {rule}={access}: {problem}")
        checked[rule] = cast("Access", access)
    return checked


def _has(tool: ToolSpec, rule: str) -> bool:
    key, default = HINTS[rule]
    annotations: Mapping[str, Any] = tool.annotations
    if key == "destructiveHint" and annotations.get("readOnlyHint") is True:
        return False
    value = annotations.get(key)
    return value if isinstance(value, bool) else default


Bound = tuple[ToolSpec, Engine | None]


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

    def bind_all(
        self, tools: Sequence[tuple[ToolSpec, Route | None]], beside: Iterable[ToolSpec] = ()
    ) -> list[Bound]:
        """Tools as bound, and their engines; with access `refuse` and no engine what binds to nothing. Without a route
        it is the first engine that can. What a tool does may show in those beside it, which are bound already.

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
