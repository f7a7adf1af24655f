"""How a world begins: its id, its first state, its engines and its tools."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentworld_sim.domains import domain
from agentworld_sim.engines._base import Engine
from agentworld_sim.errors import UsageError
from agentworld_sim.state._changes import WorldState
from agentworld_sim.state._store import NewBlobs
from agentworld_sim.tools import Access, ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.scenario import Scenario


def new_world_id() -> str:
    """A name nobody can guess: 128 random bits."""
    return secrets.token_hex(16)


def check_world_id(world_id: str) -> None:
    """Raises `UsageError` for an id that could not be typed, listed or put into a URL."""
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    if not 0 < len(world_id) <= 128 or not set(world_id) <= allowed or world_id[0] in ".-":
        raise UsageError(
            f"{world_id!r} cannot be a world's id. Use 1 to 128 letters, digits, '.', '_' and '-',"
            " beginning with a letter, a digit or '_'."
        )


def access_of(name: str, rules: Mapping[str, Access]) -> Access | None:
    """What access rules say of a tool: its own name first, then the first pattern that fits."""
    if name in rules:
        return rules[name]
    return next((access for glob, access in rules.items() if fnmatchcase(name, glob)), None)


def empty_scenario() -> Scenario:
    from agentworld_sim.scenario import Scenario

    return Scenario.model_validate({"name": "debian", "domains": ("terminal", "swe")})


def stored_text(scenario: Scenario) -> str:
    """The scenario as kept beside a world: its files are in the world's state already."""
    content: dict[str, Any] = scenario.model_dump(
        mode="json", by_alias=True, exclude={"files", "files_from"}
    )
    return json.dumps(content, sort_keys=True, ensure_ascii=False)


def restored_scenario(text: str) -> Scenario:
    from agentworld_sim.scenario import Scenario

    return Scenario.parse(text, source="the stored scenario")


def initial_state(scenario: Scenario, blobs: NewBlobs) -> WorldState:
    from agentworld_sim.engines.shell._image import base_entries
    from agentworld_sim.state._files import FileTree

    machine = scenario.machine.to_machine()
    entries = dict(base_entries(machine, scenario.clock_us, blobs))
    added = scenario.initial_tree(blobs)
    entries.update(
        (path, entry)
        for path, entry in added.items()
        # A directory that is only there to hold something keeps the base image's mode and owner.
        if not (entry.kind == "directory" and path in entries)
    )
    return WorldState(
        files=FileTree.from_entries(entries.items(), directory_mtime_us=scenario.clock_us),
        clock_us=scenario.clock_us,
        seed=scenario.seed,
    )


def default_engines(scenario: Scenario) -> list[Engine]:
    from agentworld_sim.engines.shell import ShellEngine, ShellLimits

    limits = scenario.limits
    return [
        ShellEngine(
            scenario.machine.to_machine(),
            ShellLimits(
                wall_seconds=limits.wall_seconds,
                commands=limits.commands,
                loop_iterations=limits.loop_iterations,
                memory_bytes=limits.memory_bytes,
                output_bytes=limits.output_bytes,
            ),
        )
    ]


def scenario_tools(scenario: Scenario) -> list[ToolSpec]:
    """The tools a scenario names; its domains' own toolkits when it names none."""
    from agentworld_sim.engines.shell import toolkit
    from agentworld_sim.scenario import ToolObject

    tools: list[ToolSpec] = []
    entries = scenario.tools or [kit for name in scenario.domains for kit in domain(name).toolkits]
    for entry in entries:
        if isinstance(entry, ToolObject):
            tools.append(
                ToolSpec(
                    name=entry.name,
                    description=entry.description,
                    input_schema=entry.input_schema,
                    domain=entry.domain,
                    access=entry.access or "simulate",
                    binds_to=entry.binds_to,
                )
            )
        else:
            known = {tool.name for tool in tools}
            tools += [tool for tool in toolkit(entry) if tool.name not in known]
    return tools
