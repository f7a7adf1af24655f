"""LangChain tools as a world sees them: their specs, and those that run as they are or not at all.

Tools through which an agent steers itself touch nothing but the graph they are part of: one writes the
agent's list of things to do into its state, others hand a task or the conversation to another agent, whose
own tools are simulated like all others. A world that answered them would break the agent. No call of a tool
that runs at the model's provider reaches a tool node, so none of those is simulated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any, cast, get_args, get_origin

from langchain_core.tools import BaseTool
from langgraph.types import Command
from pydantic import BaseModel

from agentworld_graphs._world_handle import handle_of
from agentworld_sim import AccessRefused, ToolSpec, World
from agentworld_sim.supports_world import HoldsWorld
from agentworld_sim.toolkits import known_tool
from agentworld_sim.toolkits.tool_specs import with_domain


def bind(real: BaseTool, world: World, *, binds_to: str | None = None) -> None:
    """Adds a tool to a world.

    Raises:
        AccessRefused: it binds to nothing, the scenario's access rules refuse it, or no answer could do
            what it does.
        UsageError: `binds_to` names nothing, or the world has another tool of that name already.
    """
    # With its Command a well-known tool says no more than its answer does.
    commands = binds_to is None and steers(real)
    spec = spec_of(real, binds_to=binds_to)
    try:
        bound = handle_of(world).bind(spec, well_known=commands)
    except AccessRefused as error:
        if not commands:
            raise
        raise AccessRefused(
            f"{real.name!r} may return a Command, with which it steers the graph, and no answer of a"
            f" world does that. If it does nothing else, let it run. Otherwise: {error}"
        ) from error
    if binds_to is None and (settings := _settings(real, bound)):
        world.add_tools([replace(spec, binds_to=f"{bound.binds_to}({settings})")])


def spec_of(real: BaseTool, *, binds_to: str | None = None) -> ToolSpec:
    """A LangChain tool as a world sees it."""
    return with_domain(
        ToolSpec(
            name=real.name,
            description=real.description,
            input_schema=_schema(real),
            binds_to=binds_to,
        )
    )


def _settings(real: BaseTool, bound: ToolSpec) -> str:
    """What the tool's object was made with, as far as the well-known tool knows it that the tool was bound to, in the
    form of a `binds_to`."""
    known = known_tool(bound.binds_to)
    if known is None or known.id != bound.binds_to:
        return ""
    own = type(real).model_fields.keys() - BaseTool.model_fields.keys()
    values = {name: getattr(real, name) for name in known.input_schema["properties"] if name in own}
    return ", ".join(
        f"{name}:={json.dumps(value)}"
        for name, value in values.items()
        if isinstance(value, str | int | list)
    )


def _schema(real: BaseTool) -> Mapping[str, Any]:
    """What the model is told of the arguments: without injected ones."""
    shown: Any = real.tool_call_schema
    if isinstance(shown, dict):
        own = cast("Mapping[str, Any]", real.args_schema)
        return {"type": "object", "properties": {}, **own}
    if issubclass(shown, BaseModel):
        return shown.model_json_schema()
    return cast("Mapping[str, Any]", shown.schema())


CONTROL_TOOLS = frozenset(
    {
        ("langchain.agents.middleware.todo", "write_todos"),
        ("deepagents.middleware.subagents", "task"),
    }
)
"""Where the function of such a tool is defined, and the tool's name. A tool that only has the name is
not one."""

HANDOFFS = frozenset({"langgraph_supervisor.handoff", "langgraph_swarm.handoff"})
"""Where all tools only hand the conversation on. Their names are those of the user's agents."""

FILE_TOOLS = "deepagents.middleware.filesystem"
"""Where the functions of deepagents' tools of files and commands are defined."""

GRAPH_BACKENDS = ("deepagents.backends.state", "deepagents.backends.store")
"""Where backends are defined that keep files in the state or the store of the graph itself."""


def is_control_tool(tool: BaseTool) -> bool:
    """Whether a tool only steers the agent it belongs to."""
    functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
    homes = {function.__module__ for function in functions if function is not None}
    if len(homes) != 1:
        return False
    home = homes.pop()
    return home in HANDOFFS or (home, tool.name) in CONTROL_TOOLS


def works_in(tool: BaseTool, world: World) -> bool:
    """Whether a tool is one of deepagents' over files and commands, whose backend works in this world already.

    What a `CompositeBackend` keeps in the graph's own state or store counts as such.
    """
    functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
    return all(_works_in(function, world) for function in functions)


def _works_in(function: Any, world: World) -> bool:
    if not isinstance(function, FunctionType) or function.__module__ != FILE_TOOLS:
        return False
    held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    backend: Any = getattr(held["self"].cell_contents, "backend", None) if "self" in held else None
    backends = [backend]
    if type(backend).__module__ == "deepagents.backends.composite":
        backends = [backend.default, *backend.routes.values()]
    worlds = [one.world for one in backends if isinstance(one, HoldsWorld)]
    kept = [one for one in backends if type(one).__module__ in GRAPH_BACKENDS]
    return bool(worlds) and {*worlds} == {world} and len(worlds) + len(kept) == len(backends)


def steers(tool: BaseTool) -> bool:
    """Whether a tool says that it may return a `Command`, with which it steers the graph it is part of."""
    return any(map(_may_be_command, _annotations_of_return(tool)))


def gives_objects(tool: BaseTool) -> bool:
    """Whether a tool says that it returns an object or a list, which becomes JSON text in a message only."""
    return any(
        bool(_OBJECT.match(one)) if isinstance(one, str) else (get_origin(one) or one) in _OBJECTS
        for one in _annotations_of_return(tool)
    )


_OBJECT = re.compile(r"(?:typing\.)?(?:dict|list)\b", re.IGNORECASE)
_OBJECTS = (dict, list)


def _annotations_of_return(tool: BaseTool) -> list[Any]:
    functions = [getattr(tool, name, None) for name in ("func", "coroutine", "_run", "_arun")]
    return [getattr(function, "__annotations__", {}).get("return") for function in functions]


def _may_be_command(told: Any) -> bool:
    if isinstance(told, str):
        return re.search(r"\bCommand\b", told) is not None
    return any(Command in (one, get_origin(one)) for one in (told, *get_args(told)))


DECLARES = ("function", "input_schema", "parameters", "function_declarations")
"""Keys of a dict that only tells the model of a tool somebody else runs: as OpenAI, Anthropic and
Google write it."""


def provider_side(tool: object) -> str | None:
    """The name of a provider-side tool; `None` for any other tool.

    A dict is one unless it is the declaration of a function: what is not known to be harmless counts
    as one.
    """
    if not isinstance(tool, Mapping):
        return None
    told = cast("Mapping[str, Any]", tool)
    if told.get("type", "function") in ("function", "custom") and any(
        key in told for key in DECLARES
    ):
        return None
    return str(told.get("name") or told.get("type") or next(iter(told), "?"))


def provider_side_in(model: object, settings: Mapping[str, Any] | None = None) -> list[str]:
    """The provider-side tools that a model was given beforehand, as far as that can be seen."""
    found: list[str] = []
    for place in (settings, getattr(model, "kwargs", None), getattr(model, "model_kwargs", None)):
        if isinstance(place, Mapping):
            found += provider_side_among(cast("Mapping[str, Any]", place))
    found += _servers(getattr(model, "mcp_servers", None))
    bound: object = getattr(model, "bound", None)
    return found if bound is None else [*found, *provider_side_in(bound)]


def provider_side_among(settings: Mapping[str, Any]) -> list[str]:
    """The provider-side tools in what a model is called with."""
    tools: object = settings.get("tools")
    named = [provider_side(tool) for tool in cast("Iterable[object]", tools or ())]
    return [name for name in named if name is not None] + _servers(settings.get("mcp_servers"))


def refusal_of(name: str) -> str:
    """Why a provider-side tool is refused."""
    return (
        f"{name!r} is a provider-side tool: it runs at the model's provider and no call of it would"
        " reach the world. Leave it out of a simulated run."
    )


def _servers(given: object) -> list[str]:
    """MCP servers that the provider itself calls."""
    if not isinstance(given, list | tuple):
        return []
    return [
        str(cast("Mapping[str, Any]", one).get("name", "?")) if isinstance(one, Mapping) else "?"
        for one in cast("Iterable[object]", given)
    ]


HOME = "langchain.agents.middleware.shell_tool"

REASON = (
    "ShellToolMiddleware starts a real shell and runs its startup commands on this machine before any"
    " tool is called. Put SimulatedShellMiddleware in its place."
)


def starts_real_shell(tool: BaseTool) -> str | None:
    """Why a tool is refused that comes with a real shell; `None` for any other."""
    function = getattr(tool, "func", None)
    return f"{tool.name!r}: {REASON}" if getattr(function, "__module__", None) == HOME else None
