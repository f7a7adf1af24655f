"""An engine made of Python functions: for tests, and for tools that are easily computed."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

from agentworld_sim.errors import EngineFailure, nearest
from agentworld_sim.ports import Answer, StepContext
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import DomainName, ToolSpec
from agentworld_sim.types.turns import Observation

TURN_US = 100_000
"""What every turn takes on the world's clock."""

Reply = str | Observation | tuple[Observation, Mapping[str, Any]]
"""A text, an observation, or an observation with changed values of the world's state."""

ToolFunction = Callable[[Mapping[str, Any], Mapping[str, Any]], Reply | Awaitable[Reply]]
"""Takes the call's arguments and the world's values."""


class FunctionEngine:
    """Implements `Engine`. A function must be pure: its reply depends on its arguments alone.

    ```python
    engine = FunctionEngine({"add": lambda arguments, values: str(arguments["a"] + arguments["b"])})
    ```
    """

    route: Literal["compute"] = "compute"

    def __init__(
        self,
        functions: Mapping[str, ToolFunction],
        *,
        name: str = "function",
        domain: DomainName | None = None,
    ) -> None:
        self.name = name
        self._functions = dict(functions)
        self._domain: DomainName | None = domain

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        own = f"{self.name}/{tool.name}"
        if tool.name not in self._functions or tool.binds_to not in (None, own):
            return None
        return replace(tool, domain=tool.domain or self._domain, binds_to=own)

    def refusal(self, tool: ToolSpec) -> str:
        return f"No function is given for {tool.name!r}.{nearest(tool.name, self._functions)}"

    async def open(self, state: WorldState, blobs: Blobs) -> _FunctionSession:
        return _FunctionSession(self._functions)


class _FunctionSession:
    def __init__(self, functions: Mapping[str, ToolFunction]) -> None:
        self._functions = functions

    async def answer(self, context: StepContext) -> Answer:
        call = context.call
        reply = self._functions[call.name](call.arguments, context.state.values)
        if inspect.isawaitable(reply):
            reply = await reply
        if isinstance(reply, str):
            reply = Observation(text=reply)
        if isinstance(reply, Observation):
            observation, values = reply, dict[str, Any]()
        elif isinstance(reply, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
            observation, values = reply
        else:
            raise EngineFailure(
                f"the function for {call.name!r} gave a {type(reply).__name__}; a text, an"
                " Observation, or an Observation with values is wanted"
            )
        clock_us = context.state.clock_us + TURN_US
        return Answer(observation, StateChange(clock_us=clock_us, values=values))

    def close(self) -> None:
        pass
