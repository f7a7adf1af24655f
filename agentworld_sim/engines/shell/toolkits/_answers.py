"""Small helpers that every toolkit uses: schemas, observations, paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import ShellTurn
from agentworld_sim.types.files import normal_path
from agentworld_sim.types.turns import Observation

STRING: Mapping[str, Any] = {"type": "string"}
INTEGER: Mapping[str, Any] = {"type": "integer"}
NUMBER: Mapping[str, Any] = {"type": "number"}
BOOLEAN: Mapping[str, Any] = {"type": "boolean"}


def schema(required: str = "", /, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object schema; `required` lists argument names, separated by spaces."""
    return {"type": "object", "properties": properties, "required": required.split()}


def nullable(kind: Mapping[str, Any]) -> Mapping[str, Any]:
    """An optional argument that may also be given as `null`, as Python tools publish it."""
    return {"anyOf": [kind, {"type": "null"}]}


def said(text: str) -> Observation:
    """A computed answer."""
    return Observation(text=text)


def failed(text: str) -> Observation:
    """An answer that the real tool marks as an error."""
    return Observation(text=text, is_error=True)


def absolute(turn: ShellTurn, path: str) -> str:
    """`path` as the tool's shell sees it, without `.`, `..` and double slashes."""
    return normal_path(path if path.startswith("/") else f"{turn.cwd}/{path}")
