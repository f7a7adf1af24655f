"""Stubs: answers that a test or a scenario gives to tools, whatever else could answer them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal, cast

from agentworld_sim.domains import domain
from agentworld_sim.engines.function import TURN_US
from agentworld_sim.errors import AccessRefused, AgentworldError, EngineFailure, UsageError, nearest
from agentworld_sim.ports import Answer, StepContext
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

StubData = Mapping[str, Any]
"""A stub as data, with one key: `text`, `value` (JSON), `error` (how the tool fails), or `function` (which
one; the function itself belongs to a process)."""

_ALIKE = 0.85
"""How like a tool's name the name of a stub must be to be a misspelling of it."""


def stub_data(name: str, given: object) -> StubData:
    """A stub as data, given as a text, a JSON value, an exception, or a function of the call's arguments.

    Raises:
        UsageError: it is none of these.
    """
    if isinstance(given, type) and issubclass(cast("type[Any]", given), BaseException):
        given = cast("type[BaseException]", given)()
    if isinstance(given, BaseException):
        return {"error": str(given) or type(given).__name__}
    if isinstance(given, str):
        return {"text": given}
    if callable(given):
        of: Any = cast("Any", given if hasattr(cast("Any", given), "__qualname__") else type(given))
        return {"function": f"{of.__module__}:{of.__qualname__}"}
    try:
        return {"value": json.loads(json.dumps(given, allow_nan=False))}
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"the answer for {name!r} is {given!r}: give a text, a JSON value, a function of the call's"
            f" arguments, or an exception ({error})."
        ) from None


class StubEngine:
    """Implements `Engine` for the tools that have an answer. It is asked before all others, and does not
    change: a world that is given another answer has another one of these."""

    name = "stub"
    route: Literal["compute"] = "compute"

    def __init__(
        self,
        answers: Mapping[str, StubData] | None = None,
        functions: Mapping[str, Callable[..., Any]] | None = None,
    ) -> None:
        """Answers as data and the functions that they name, both by tool name."""
        self._answers = dict(answers or {})
        self._functions = dict(functions or {})

    def with_answers(self, given: Mapping[str, object], tools: Collection[str] = ()) -> StubEngine:
        """An engine with more answers, or others; `tools` are the names there are.

        Raises:
            UsageError: one is nothing that can be answered with, or its name misspells that of a tool.
        """
        for name in given:
            _require_no_misspelling(name, tools)
        answers = {name: stub_data(name, value) for name, value in given.items()}
        own = {
            name: cast("Callable[..., Any]", given[name])
            for name, data in answers.items()
            if "function" in data
        }
        return StubEngine({**self._answers, **answers}, {**self._functions, **own})

    def require_named(self, tools: Collection[str]) -> None:
        """Raises `UsageError` where the name of an answer misspells that of a tool without one."""
        if self._answers:
            others = [name for name in tools if name not in self._answers]
            for name in self._answers.keys() - set(tools):
                _require_no_misspelling(name, others)

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return self.bind_stub(tool) if tool.name in self._answers else None

    def bind_stub(self, tool: ToolSpec) -> ToolSpec:
        """A tool that has an answer, as bound."""
        # Imported late: nobody needs the toolkits before a tool is bound.
        from agentworld_sim.toolkits import infer_domain

        name = tool.domain or infer_domain(tool)
        return replace(tool, domain=name, binds_to=f"{self.name}/{tool.name}")

    def refusal(self, tool: ToolSpec) -> str:
        near = nearest(tool.name, self._answers)
        return near and f"There is no answer for {tool.name!r}.{near}"

    async def open(self, state: WorldState, blobs: Blobs) -> StubSession:
        return StubSession(self._answers, self._functions)


class StubSession:
    """Implements `EngineSession`."""

    def __init__(
        self, answers: Mapping[str, StubData], functions: Mapping[str, Callable[..., Any]]
    ) -> None:
        self._answers = answers
        self._functions = functions

    async def answer(self, context: StepContext) -> Answer:
        call, tool = context.call, context.tool
        data = self._answers[call.name]
        if "function" in data:
            observation = await self._call_function(data["function"], call, tool)
        else:
            observation = stub_observation(data, tool)
        clock_us = context.state.clock_us + TURN_US
        return Answer(observation, StateChange(clock_us=clock_us))

    async def _call_function(self, reference: str, call: ToolCall, tool: ToolSpec) -> Observation:
        function = self._functions.get(call.name)
        if function is None:
            raise AccessRefused(
                f"{call.name!r} was answered by the function {reference!r} of another process. Give it"
                f" again: answers={{{call.name!r}: …}}."
            )
        try:
            given = function(**call.arguments)
            if inspect.isawaitable(given):
                given = await given
        except AgentworldError:
            raise
        except Exception as error:
            raise EngineFailure(
                f"the function {reference!r}, which answers {call.name!r}, raised"
                f" {type(error).__name__}: {error}. To have the tool fail so, return the exception."
            ) from error
        if isinstance(given, Observation):
            return given
        data = stub_data(call.name, given)
        if "function" in data:
            raise EngineFailure(
                f"the function {reference!r} gave another function for {call.name!r}."
            )
        return stub_observation(data, tool)

    def close(self) -> None:
        pass


def stub_observation(data: StubData, tool: ToolSpec) -> Observation:
    """What an agent sees of a stub. Raises `EngineFailure` where it does not fit the tool's output schema."""
    if "error" in data:
        return Observation(text=data["error"], is_error=True)
    text = data["text"] if "text" in data else json.dumps(data["value"], ensure_ascii=False)
    if tool.output_schema is None:
        return Observation(text=text)
    try:
        # As the protocol's servers put it: structured content and its text.
        read = domain("mcp").read(text, ToolCall(tool.name), tool)
    except ValueError as error:
        raise EngineFailure(f"the answer for {tool.name!r} cannot be used: {error}") from None
    return replace(read, provenance="computed")


def _require_no_misspelling(name: str, tools: Collection[str]) -> None:
    """A name that is like no tool's may be that of one that is added later."""
    near = [] if name in tools else get_close_matches(name, tools, n=1, cutoff=_ALIKE)
    if near:
        raise UsageError(
            f"there is an answer for {name!r}, and no tool of that name. Did you mean {near[0]!r}? If it is"
            " another tool, add that first."
        )
