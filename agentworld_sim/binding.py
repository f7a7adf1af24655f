"""Tools for any agent framework, and for none: a `ToolSpec` and an async callable.

Frameworks that know neither LangChain nor MCP take a schema and a function. A `BoundTool` is both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentworld_sim._holding import HoldsWorld
from agentworld_sim.tools import ToolSpec
from agentworld_sim.turns import Observation
from agentworld_sim.world import World

__all__ = ["BoundTool", "bind"]


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool of a world, ready to be called."""

    spec: ToolSpec
    """As bound in the world."""
    world: World

    async def __call__(self, arguments: Mapping[str, Any] | str = "{}", /, *, id: str = "") -> str:
        """Answers one call with the text the agent reads.

        Args:
            arguments: As an object, or as the JSON text that models write.
            id: The call's id, if there is one.
        """
        raise NotImplementedError

    async def observe(
        self, arguments: Mapping[str, Any] | str = "{}", /, *, id: str = ""
    ) -> Observation:
        """The same, with all that is known of the answer."""
        raise NotImplementedError


def bind(
    world: World | HoldsWorld, tools: Sequence[ToolSpec | Callable[..., Any]] = ()
) -> list[BoundTool]:
    """Binds tools to a world: specs, or functions whose signature and docstring say what they take.

    Args:
        world: What answers.
        tools: The tools; those that the world has already by default. Functions are never called.

    Raises:
        AccessRefused: some bind to nothing. All are named, each with its reason.
    """
    raise NotImplementedError
