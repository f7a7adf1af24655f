"""`ServerTool`: one tool of a well-known server, and what its operation works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any, cast

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.schema.match import plain_name, schema_fits
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation

SERVER_MODULES = ("memory", "sqlite", "time")

TEXT: Mapping[str, Any] = {"type": "string"}
TEXTS: Mapping[str, Any] = {"type": "array", "items": TEXT}


def record(required: str = "", /, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object schema; `required` lists names, separated by spaces."""
    return {"type": "object", "properties": properties, "required": required.split()}


class Kept:
    """What a server keeps in the world's values, under keys that begin with its own name."""

    def __init__(self, values: Mapping[str, Any], prefix: str) -> None:
        self._values = values
        self._prefix = prefix
        self.changes: dict[str, Any] = {}
        """Key of the world's to new value; `None` for one that is gone."""

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(self._prefix + key, default)

    def put(self, key: str, value: Any) -> None:
        """Keeps `value`; `None` removes the key. What is kept already is no change."""
        if self.get(key) != value:
            self.changes[self._prefix + key] = value

    def items(self, beginning: str) -> dict[str, Any]:
        """The values whose keys begin so, by the rest of the key, in the order of the keys."""
        start = self._prefix + beginning
        found = sorted(key for key in self._values if key.startswith(start))
        return {key[len(start) :]: self._values[key] for key in found}


@dataclass(frozen=True, slots=True)
class ServerTurn:
    """What an operation may look at, beside the arguments."""

    kept: Kept
    clock_us: int
    """The world's time, in microseconds since the epoch."""
    seed: int
    """Of the turn's random source."""
    name: str
    """What the agent calls the tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """A well-known tool."""

    id: str
    """`server/tool`, for example `memory/read_graph`."""
    description: str
    input_schema: Mapping[str, Any]
    """The schema the real tool publishes, in our words."""
    operation: Callable[[ServerTurn, Mapping[str, Any]], Observation]
    """Computes one call. Arguments fit the schema."""
    output_schema: Mapping[str, Any] | None = None
    """Of its structured content, if the real tool publishes one."""
    slow: bool = False
    """Whether it may take long enough to be computed in a thread."""
    server: str = field(init=False)
    name: str = field(init=False)
    """The tool's own name."""

    def __post_init__(self) -> None:
        server, _, name = self.id.partition("/")
        object.__setattr__(self, "server", server)
        object.__setattr__(self, "name", name)

    @property
    def spec(self) -> ToolSpec:
        """The tool as an agent would be given it."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            domain="mcp",
            binds_to=self.id,
        )


@lru_cache(maxsize=1)
def server_tools() -> Mapping[str, ServerTool]:
    """All of them, by id."""
    found: dict[str, ServerTool] = {}
    for module in SERVER_MODULES:
        loaded = import_module(f"agentworld_sim.engines.toolkits.{module}")
        for tool in cast("tuple[ServerTool, ...]", loaded.TOOLS):
            found[tool.id] = tool
    return found


def server_tool_for(tool: ToolSpec) -> ServerTool | None:
    """The one that answers `tool`; by `binds_to` if given, else by name and schema.

    Raises:
        UsageError: `binds_to` names one of these servers, but no tool of it.
    """
    known = server_tools()
    if tool.binds_to is not None:
        server = tool.binds_to.partition("/")[0]
        if tool.binds_to not in known and server in SERVER_MODULES:
            raise UsageError(
                f"tool {tool.name!r} binds to {tool.binds_to!r}, which does not exist."
                f"{nearest(tool.binds_to, known)} There are: {', '.join(known)}."
            )
        return known.get(tool.binds_to)
    if tool.domain != "mcp":
        # Their names are ordinary words: elsewhere, who means them says so.
        return None
    name = plain_name(tool)
    return next(
        (
            one
            for one in known.values()
            if one.name == name and schema_fits(tool.input_schema, one.input_schema)
        ),
        None,
    )
