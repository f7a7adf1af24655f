"""LangChain tools as a world sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from langchain_core.tools import BaseTool
from pydantic import BaseModel

from agentworld_graphs._own_tools import steers
from agentworld_graphs._seat import seat_of
from agentworld_sim import AccessRefused, ToolSpec, World
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
    try:
        seat_of(world).bind(spec_of(real, binds_to=binds_to), well_known=commands)
    except AccessRefused as error:
        if not commands:
            raise
        raise AccessRefused(
            f"{real.name!r} may return a Command, with which it steers the graph, and no answer of a"
            f" world does that. If it does nothing else, let it run. Otherwise: {error}"
        ) from error


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


def _schema(real: BaseTool) -> Mapping[str, Any]:
    """What the model is told of the arguments: without injected ones."""
    shown: Any = real.tool_call_schema
    if isinstance(shown, dict):
        own = cast("Mapping[str, Any]", real.args_schema)
        return {"type": "object", "properties": {}, **own}
    if issubclass(shown, BaseModel):
        return shown.model_json_schema()
    return cast("Mapping[str, Any]", shown.schema())
