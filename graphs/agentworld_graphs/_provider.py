"""Tools that run at the model's provider: no call of one reaches a tool node, so none is simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

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
    """The provider-side tools that a model was given beforehand, as far as that can be seen.

    Args:
        model: A chat model, or one that things were bound to.
        settings: What the model is called with.
    """
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
