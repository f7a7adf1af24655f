"""Tools as the agent sees them, and calls to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentworld_sim.types.json import json_form

DomainName = Literal["mcp", "search", "terminal", "swe", "web", "android", "os"]
"""The seven kinds of environment."""

Access = Literal["simulate", "real", "refuse"]
"""Who answers a tool: the world, the real tool (allow-list only), or nobody."""

Route = Literal["compute", "imagine", "refuse"]
"""How a simulated tool, or a command in a shell, is answered: by an engine that computes, by the
language world model, or not at all."""

EMPTY_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a tool looks like to the agent, and what answers it."""

    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = field(default_factory=lambda: EMPTY_SCHEMA)
    """JSON Schema of the arguments; always an object."""
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict[str, Any])
    domain: DomainName | None = None
    """What kind of environment it belongs to; `None` until the tool is bound."""
    access: Access = "simulate"
    binds_to: str | None = None
    """The binding that answers it, for example `claude-code/Bash`; `None` binds by name and schema.
    Arguments of other names are mapped in it: `terminal/bash(command=cmd, -timeout)`."""

    def to_json(self) -> dict[str, Any]:
        return json_form(self, "description", "input_schema", "access")

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> ToolSpec:
        return cls(**value)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call by an agent. The id is the agent's own and never part of a world's history."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""

    def to_json(self) -> dict[str, Any]:
        return json_form(self, "arguments", "id")
