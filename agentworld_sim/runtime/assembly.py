"""How a world begins: its id, its first state, its engines and its tools."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from agentworld_sim.controls.declared import DECLARED
from agentworld_sim.domains import domain
from agentworld_sim.errors import UsageError
from agentworld_sim.ports import Engine
from agentworld_sim.store.base import NewBlobs, WorldRecord, WorldStore
from agentworld_sim.toolkits import toolkit
from agentworld_sim.types.refs import WorldRef, hashed
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.ports import WorldImaginer
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


def new_world(
    world_id: str, scenario: Scenario, store: WorldStore
) -> tuple[WorldRecord, WorldState]:
    """Stores a world with its first state."""
    blobs = NewBlobs(store.blobs)
    state = initial_state(scenario, blobs)
    root = hashed("root", {"scenario": scenario.canonical(), "seed": scenario.seed})
    record = WorldRecord(
        id=world_id, root=root, head=root, scenario=stored_text(scenario), created=_now()
    )
    store.create(record, state, blobs.new)
    return record, state


def record_of_fork(here: WorldRecord, world_id: str, ref: WorldRef, turns: int) -> WorldRecord:
    """Of a world that begins at a point of the world `here`, after so many turns."""
    return replace(
        here,
        id=world_id,
        head=ref,
        forked_from=here.id,
        turns=turns,
        expires=0.0,
        created=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def empty_scenario() -> Scenario:
    from agentworld_sim.scenario import Scenario

    return Scenario.model_validate({"name": "debian", "domains": ("terminal", "swe")})


def stored_text(scenario: Scenario) -> str:
    """The scenario as kept beside a world: its files are in the world's state already."""
    content: dict[str, Any] = scenario.model_dump(
        mode="json", by_alias=True, exclude={"files", "files_from"}
    )
    # Not sorted: the order of a table's fields is the order in which answers have them.
    return json.dumps(content, ensure_ascii=False)


def restored_scenario(text: str) -> Scenario:
    from agentworld_sim.scenario import Scenario

    return Scenario.parse(text, source="the stored scenario")


def initial_state(scenario: Scenario, blobs: NewBlobs) -> WorldState:
    from agentworld_sim.engines.shell.image import base_tree
    from agentworld_sim.types.files import FileTree

    clock_us = scenario.clock_us
    tree = base_tree(scenario.machine.to_machine(), clock_us, blobs)
    added = scenario.initial_tree(blobs)
    entries = {
        path: entry
        for path, entry in added.items()
        # A directory that is only there to hold something keeps the base image's mode and owner.
        if not (entry.kind == "directory" and path in tree)
    }
    if entries:
        tree = FileTree.from_entries({**tree, **entries}.items(), directory_mtime_us=clock_us)
    declared = [control.model_dump(mode="json") for control in scenario.controls]
    values = {DECLARED: declared} if declared else {}
    return WorldState(files=tree, clock_us=clock_us, seed=scenario.seed, values=values)


def model_for(
    scenario: Scenario, model: WorldImaginer | str | Literal[False] | None
) -> WorldImaginer | None:
    """The model of a world: the one given, else what the environment or the scenario names."""
    if model is False:
        return None
    if model is not None and not isinstance(model, str):
        return model
    return named_model(scenario, model)


def named_model(scenario: Scenario, model: str | None = None) -> WorldModel | None:
    """The model that a URL, the environment or the scenario names."""
    spec = scenario.model
    url = model or os.environ.get("AGENTWORLD_MODEL_URL")
    named = url or spec.url
    if not named:
        return None
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.llm.transport import is_loopback

    variables = dict(os.environ)
    if not url and not is_loopback(urlsplit(named).hostname or ""):
        # A scenario may come from anybody: what it names is not given the user's key.
        variables.pop("AGENTWORLD_API_KEY", None)
    name = variables.get("AGENTWORLD_MODEL") or spec.name
    return WorldModel.find(url=named, model=name, environment=variables)


def model_beside(
    scenario: Scenario,
    model: WorldImaginer | str | Literal[False] | None,
    engines: Sequence[Engine] | None,
) -> WorldImaginer | None:
    """The model of a world, which engines that are given bring themselves."""
    if engines is None:
        return model_for(scenario, model)
    if model:
        raise UsageError(
            "engines=… and model=… both say what answers. Put `ModelEngine(model.imaginer())`"
            " among the engines."
        )
    return None


def in_domains(tools: Iterable[ToolSpec], scenario: Scenario) -> Iterator[ToolSpec]:
    """The tools in the domains that the scenario names for them; a well-known tool has its own.

    Where it has a single domain, and not one of a shell, that is meant for tools of which nothing else is
    known.
    """
    from agentworld_sim.scenario import ToolObject
    from agentworld_sim.toolkits import binding_for

    named = {tool.name: tool.domain for tool in scenario.tools if isinstance(tool, ToolObject)}
    only = scenario.domains[0] if len(scenario.domains) == 1 else None
    for tool in tools:
        own = named.get(tool.name)
        if own is None and only not in (None, "terminal", "swe") and tool.domain in (None, "mcp"):
            own = None if binding_for(tool) else only
        yield tool if own is None else replace(tool, domain=own)


def scenario_tools(scenario: Scenario) -> list[ToolSpec]:
    """The tools a scenario names; its domains' own toolkits when it names none."""
    from agentworld_sim.scenario import ToolObject

    tools: list[ToolSpec] = []
    entries = scenario.tools or [kit for name in scenario.domains for kit in domain(name).toolkits]
    for entry in entries:
        if isinstance(entry, ToolObject):
            tools.append(entry.to_tool_spec())
        else:
            known = {tool.name for tool in tools}
            tools += [tool for tool in toolkit(entry) if tool.name not in known]
    return tools
