"""Which tool runs for which name: the simulated one, the real one, or none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as tool_from

from agentworld_graphs._simulate import SimulatedTool, simulated
from agentworld_sim import Access, AccessRefused, UsageError, World
from agentworld_sim._access import rule_for
from agentworld_sim.errors import nearest


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a node, by name."""

    given: Mapping[str, BaseTool]
    """The user's own."""
    run: Mapping[str, BaseTool]
    """Those that are called."""


def chosen(
    tools: Sequence[BaseTool | Callable[..., Any] | Mapping[str, Any]],
    world: World,
    *,
    access: Mapping[str, Access],
    binds_to: Mapping[str, str],
    messages_key: str,
) -> Tools:
    """Chooses for every tool what runs.

    Raises:
        AccessRefused: some bind to nothing. All are named, each with its reason.
        UsageError: `access` or `binds_to` name tools that are not there.
    """
    given: dict[str, BaseTool] = {}
    refusals: list[str] = []
    for tool in tools:
        if isinstance(tool, Mapping):
            refusals.append(_provider_side(cast("Mapping[str, Any]", tool)))
        else:
            real = tool if isinstance(tool, BaseTool) else tool_from(tool)
            given[real.name] = real
    _require_known(access, given, "access")
    _require_known(binds_to, given, "binds_to")
    run: dict[str, BaseTool] = {}
    unbound: list[str] = []
    for name, real in given.items():
        wanted = access.get(name, "simulate")
        if wanted not in ("simulate", "real", "refuse"):
            raise UsageError(
                f"access[{name!r}] is {wanted!r}; it can be 'simulate', 'real' or 'refuse'."
            )
        if wanted == "real" and rule_for(name, world.scenario.access) == "refuse":
            refusals.append(f"{name!r} is 'real' here, but the scenario's access rules refuse it.")
            continue
        if wanted == "real" or (wanted == "simulate" and isinstance(real, SimulatedTool)):
            run[name] = real
            continue
        try:
            run[name] = simulated(
                real,
                world,
                binds_to=binds_to.get(name),
                access=wanted,
                messages_key=messages_key,
            )
        except AccessRefused as error:
            unbound.append(name)
            refusals.append(str(error))
    if refusals:
        raise AccessRefused(_refusal(refusals, unbound))
    return Tools(given, run)


def _refusal(refusals: Sequence[str], unbound: Sequence[str]) -> str:
    text = "not every tool would be simulated, so the node was not made."
    text += "".join(f"\n- {refusal}" for refusal in refusals)
    if unbound:
        name = unbound[0]
        text += (
            f"\nFor each: say what it is (binds_to={{{name!r}: 'toolkit/tool'}}), let the real tool"
            f" run (access={{{name!r}: 'real'}}), or keep it and fail the run when it is called"
            f" (access={{{name!r}: 'refuse'}})."
        )
    return text


def _provider_side(tool: Mapping[str, Any]) -> str:
    name: object = tool.get("name") or tool.get("type") or "?"
    return (
        f"{name!r} is a provider-side tool: it runs at the model's provider and no call of it would"
        " reach the world. Leave it out of a simulated run."
    )


def _require_known(named: Iterable[str], given: Mapping[str, BaseTool], option: str) -> None:
    for name in named:
        if name not in given:
            raise UsageError(
                f"{option} names {name!r}, which is not among the tools.{nearest(name, given)} There"
                f" are: {', '.join(given) or 'none'}."
            )
