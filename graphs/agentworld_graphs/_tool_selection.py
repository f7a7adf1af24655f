"""Which tool runs for which name: the simulated one, the real one, or none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack, cast
from weakref import WeakKeyDictionary

from langchain_core.tools import BaseTool, tool as tool_from
from langgraph.prebuilt import ToolNode

from agentworld_graphs._simulate import SimulatedTool, simulate_in
from agentworld_graphs._world_handle import WorldOptions, handle_of, world_of
from agentworld_graphs.langchain_tool_specs import (
    is_control_tool,
    provider_side,
    refusal_of,
    spec_of,
    works_in,
)
from agentworld_sim import Access, AccessRefused, UsageError, World
from agentworld_sim.errors import nearest
from agentworld_sim.runtime.access import rule_for
from agentworld_sim.supports_world import HoldsWorld

GivenTool = BaseTool | Callable[..., Any] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodeTools:
    """The tools of a node, by name."""

    given: Mapping[str, BaseTool]
    """The user's own."""
    run: Mapping[str, BaseTool]
    """Those that are called."""


@dataclass(slots=True)
class Refusals:
    """Why a node, a run or a graph was refused."""

    lines: list[str] = field(default_factory=list[str])
    unbound: list[str] = field(default_factory=list[str])
    """Names of tools that could be bound."""

    def raise_if_any(
        self, *, consequence: str, title: str = "not every tool would be simulated"
    ) -> None:
        """
        Raises:
            AccessRefused: there are some. All are named, each with its reason.
        """
        if not self.lines:
            return
        text = f"{title}, so {consequence}."
        text += "".join(f"\n- {line}" for line in dict.fromkeys(self.lines))
        if self.unbound:
            name = self.unbound[0]
            text += (
                f"\nFor each: say what it is (binds_to={{{name!r}: 'toolkit/tool'}}), name a language"
                " world model that imagines it (AGENTWORLD_MODEL_URL, or model= of the world), let the"
                f" real tool run (access={{{name!r}: 'real'}}), or keep it and fail the run when it is"
                f" called (access={{{name!r}: 'refuse'}})."
            )
        raise AccessRefused(text)


class ToolSelection:
    """Chooses for each tool what runs. Tools may come one by one; each is bound once."""

    def __init__(
        self,
        world: World | HoldsWorld | str | None = None,
        *,
        access: Mapping[str, Access] | None = None,
        binds_to: Mapping[str, str] | None = None,
        **options: Unpack[WorldOptions],
    ) -> None:
        """
        Raises:
            UsageError: the world is not there; `access`, `binds_to` or `answers` is not by tool name;
                `access` holds what is no access, or does not let a world answer what it has an answer for.
        """
        answers = options.get("answers")
        for option, value in (("access", access), ("binds_to", binds_to), ("answers", answers)):
            if value is not None and not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  users err
                raise UsageError(
                    f"{option}={value!r}: say it by tool name, as {option}={{'some_tool': {value!r}}}."
                )
        self._access: dict[str, Access] = dict(access or {})
        self._answered = frozenset(answers or ())
        self._binds_to = dict(binds_to or {})
        self._known: dict[str, tuple[BaseTool, BaseTool]] = {}
        self._guard = threading.Lock()
        self.node_copies: WeakKeyDictionary[ToolNode, ToolNode] = WeakKeyDictionary()
        """The tool nodes that take the place of the user's."""
        for name, wanted in self._access.items():
            if wanted not in ("simulate", "real", "refuse"):
                raise UsageError(
                    f"access[{name!r}] is {wanted!r}; it can be 'simulate', 'real' or 'refuse'."
                )
            if wanted != "simulate" and name in self._answered:
                raise UsageError(
                    f"access[{name!r}] is {wanted!r}, and answers has an answer for it. Leave one out."
                )
        self.world = world_of(world, **options)
        self.start = self.world.ref
        """Where threads begin."""

    def may_run(self, name: str) -> bool:
        """Whether the real tool of that name may run."""
        return (
            self._access.get(name) == "real"
            and rule_for(name, self.world.scenario.access) != "refuse"
        )

    def tool_for(self, real: BaseTool) -> BaseTool:
        """The tool that runs in place of `real`.

        Raises:
            AccessRefused: it binds to nothing, or the scenario refuses what is asked here.
            UsageError: `binds_to` names nothing.
        """
        with self._guard:
            known = self._known.get(real.name)
            if known is None or known[0] is not real:
                known = self._known[real.name] = (real, self._choose(real))
            return known[1]

    def _choose(self, real: BaseTool) -> BaseTool:
        name, wanted = real.name, self._access_of(real)
        if wanted == "real":
            if rule_for(name, self.world.scenario.access) == "refuse":
                raise AccessRefused(
                    f"{name!r} is 'real' here, but the scenario's access rules refuse it."
                )
            return real
        if wanted == "simulate" and isinstance(real, SimulatedTool):
            return real
        binding = self._binds_to.get(name)
        return simulate_in(real, self.world, binds_to=binding, access=wanted, start=self.start)

    def offer(self, tools: Iterable[BaseTool]) -> None:
        """Shows tools to the world together, before they are bound: what one does to which records is
        often clear only beside the others.

        Raises:
            UsageError: `binds_to` names nothing.
        """
        handle_of(self.world).offer(
            spec_of(real, binds_to=self._binds_to.get(real.name))
            for real in tools
            if self._access_of(real) == "simulate" and not isinstance(real, SimulatedTool)
        )

    def _access_of(self, real: BaseTool) -> Access:
        given = self._access.get(real.name)
        if given is not None:
            return given
        if real.name in self._answered:
            return "simulate"
        return "real" if is_control_tool(real) or works_in(real, self.world) else "simulate"

    def all_of(self, tools: Iterable[GivenTool], refusals: Refusals) -> NodeTools:
        """What runs for each of several tools; what is refused is added to `refusals`."""
        if isinstance(tools, BaseTool):
            raise UsageError(f"the tools are a list: give [{tools.name}].")
        given: dict[str, BaseTool] = {}
        run: dict[str, BaseTool] = {}
        for tool in tools:
            if isinstance(tool, Mapping):
                told = cast("Mapping[str, Any]", tool)
                name = provider_side(told) or str(told.get("name") or told.get("type") or "?")
                refusals.lines.append(refusal_of(name))
                continue
            real = tool if isinstance(tool, BaseTool) else tool_from(tool)
            given[real.name] = real
        self.offer(given.values())
        for name, real in given.items():
            try:
                run[name] = self.tool_for(real)
            except AccessRefused as error:
                refusals.lines.append(str(error))
                if self._access.get(name) != "real":
                    refusals.unbound.append(name)
        return NodeTools(given, run)

    def require_known(self, names: Iterable[str]) -> None:
        """
        Raises:
            UsageError: `access`, `binds_to` or `answers` name tools that are not among `names`.
        """
        given = list(dict.fromkeys(names))
        named_by = {"access": self._access, "binds_to": self._binds_to, "answers": self._answered}
        for option, named in named_by.items():
            for name in named:
                if name not in given:
                    raise UsageError(
                        f"{option} names {name!r}, which is not among the tools."
                        f"{nearest(name, given)} There are: {', '.join(given) or 'none'}."
                    )
