"""Which tools a scenario offers, and in which domains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from agentworld_sim.domains import domain
from agentworld_sim.scenario._parts import ToolObject
from agentworld_sim.scenario._scenario import Scenario
from agentworld_sim.toolkits import binding_for, toolkit
from agentworld_sim.types.tools import ToolSpec


def in_domains(tools: Iterable[ToolSpec], scenario: Scenario) -> Iterator[ToolSpec]:
    """The tools in the domains that the scenario names for them; a well-known tool has its own.

    Where it has a single domain, and not one of a shell, that is meant for tools of which nothing else is
    known.
    """
    named = {tool.name: tool.domain for tool in scenario.tools if isinstance(tool, ToolObject)}
    only = scenario.domains[0] if len(scenario.domains) == 1 else None
    for tool in tools:
        own = named.get(tool.name)
        if own is None and only not in (None, "terminal", "swe") and tool.domain in (None, "mcp"):
            own = None if binding_for(tool) else only
        yield tool if own is None else replace(tool, domain=own)


def scenario_tools(scenario: Scenario) -> list[ToolSpec]:
    """The tools a scenario names; its domains' own toolkits when it names none."""
    tools: list[ToolSpec] = []
    entries = scenario.tools or [kit for name in scenario.domains for kit in domain(name).toolkits]
    for entry in entries:
        if isinstance(entry, ToolObject):
            tools.append(entry.to_tool_spec())
        else:
            known = {tool.name for tool in tools}
            tools += [tool for tool in toolkit(entry) if tool.name not in known]
    return tools
