"""`ToolkitEngine`: computes tools whose state is no file, on what a server keeps in the world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from agentworld_sim.errors import EngineFailure
from agentworld_sim.ports import Answer, StepContext
from agentworld_sim.schema.validate import check_arguments
from agentworld_sim.toolkits import (
    KnownTool,
    arguments_of,
    bind_to,
    known_tool,
    resolve_function,
    unknown_to,
)
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation


class ServerValues:
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
        else:
            self.changes.pop(self._prefix + key, None)

    def items(self, beginning: str) -> dict[str, Any]:
        """The values whose keys begin so, by the rest of the key, in the order of the keys."""
        start = self._prefix + beginning
        found = sorted(key for key in self._values if key.startswith(start))
        return {key[len(start) :]: self._values[key] for key in found}


@dataclass(frozen=True, slots=True)
class ServerTurn:
    """What an operation may look at, beside the arguments."""

    kept: ServerValues
    clock_us: int
    """The world's time, in microseconds since the epoch."""
    seed: int
    """Of the turn's random source."""
    name: str
    """What the agent calls the tool."""


TURN_US = 100_000
"""What every turn takes on the world's clock."""


class ToolkitEngine:
    """Implements `Engine` for toolkits that work on the world's values: `memory`, `sqlite`, `time`."""

    name = "toolkits"
    route: Literal["compute"] = "compute"

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return bind_to(tool, self.name)

    def refusal(self, tool: ToolSpec) -> str:
        return unknown_to(tool, self.name)

    async def open(self, state: WorldState, blobs: Blobs) -> ToolkitSession:
        return ToolkitSession()


class ToolkitSession:
    """Implements `EngineSession`. It holds nothing: an answer follows from the state alone."""

    async def answer(self, context: StepContext) -> Answer:
        def turn(found: KnownTool) -> AbstractContextManager[ServerTurn]:
            # Two servers of one kind keep apart what they keep.
            server = context.call.name.rpartition("__")[0]
            prefix = f"{found.toolkit}{'@' if server else ''}{server}/"
            kept = ServerValues(context.state.values, prefix)
            return nullcontext(
                ServerTurn(kept, context.state.clock_us, context.seed, context.call.name)
            )

        return await answer_known(context, turn)

    def close(self) -> None:
        pass


class KeepsValues(Protocol):
    """What an operation of a well-known tool works on."""

    @property
    def kept(self) -> ServerValues: ...


async def answer_known(
    context: StepContext, turn: Callable[[KnownTool], AbstractContextManager[KeepsValues]]
) -> Answer:
    """Answers a call of a well-known tool by its operation, which is given what `turn` makes and the arguments.

    Raises:
        EngineFailure: the tool is no well-known one.
    """
    call, tool = context.call, context.tool
    found = known_tool(tool.binds_to)
    if found is None:
        raise EngineFailure(f"the toolkits were given {tool.name!r}, which they cannot answer")
    arguments = arguments_of(tool.binds_to, call.arguments)
    if tool.input_schema != found.input_schema:
        # The user's schema may leave optional what the operation cannot do without.
        check_arguments(replace(tool, input_schema=found.input_schema), arguments)

    def compute() -> Answer:
        with turn(found) as given:
            observation: Observation = resolve_function(found.operation)(given, arguments)
        if tool.output_schema is None and observation.structured is not None:
            # An older release of the same server answers with text alone.
            observation = replace(observation, structured=None)
        clock_us = context.state.clock_us + TURN_US
        return Answer(observation, StateChange(clock_us=clock_us, values=given.kept.changes))

    return await asyncio.to_thread(compute) if found.slow else compute()
