"""`simulate(tool)`: the tool as the agent knows it, answered by a world."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Unpack, cast

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool as tool_from
from langchain_core.tracers.base import BaseTracer
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolRuntime
from pydantic import BaseModel, PrivateAttr
from pydantic_core import to_jsonable_python

from agentworld_graphs._call_order import CallAnswer
from agentworld_graphs._call_site import (
    copy_among,
    delta_reader,
    follow_writes,
    parent_graphs,
    ref_of_function,
    ref_of_thread,
    site_in_function,
    site_in_task,
)
from agentworld_graphs._interruption import SimulationInterrupted, as_ours
from agentworld_graphs._thread_refs import HIDDEN_CHANNEL, MARK, Mark
from agentworld_graphs._world_handle import (
    EnclosingCall,
    ToolAccess,
    WorldHandle,
    WorldOptions,
    handle_of,
    world_of,
)
from agentworld_graphs.langchain_tool_specs import bind, gives_objects
from agentworld_sim import (
    AccessRefused,
    AgentworldError,
    ArgumentsError,
    ToolCall,
    UsageError,
    World,
    WorldRef,
)
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.supports_world import HoldsWorld

Runtime = ToolRuntime[Any, Any]

MESSAGES = "messages"
"""Where a graph's state has its messages, for a tool node that is not ours. Ours say so themselves."""

RUNTIME_ARGUMENT = "agentworld_runtime"
"""The argument in which a tool node gives us its runtime. Never shown, never recorded."""


KEPT = (
    *("name", "description", "return_direct", "verbose", "callbacks", "tags", "metadata", "extras"),
    *("handle_validation_error", "response_format"),
)
"""What a simulated tool has of the real one, as it is."""


class SimulatedTool(StructuredTool):
    """A tool whose calls a world answers; made by `simulate`. The real tool is not kept."""

    _handle: WorldHandle = PrivateAttr()
    _world: World = PrivateAttr()
    _start: WorldRef = PrivateAttr()
    _real_injected: frozenset[str] = PrivateAttr(default=frozenset())
    _shown: frozenset[str] | None = PrivateAttr(default=None)
    _gives_objects: bool = PrivateAttr(default=False)
    _refusal: AgentworldError | None = PrivateAttr(default=None)
    _runtime: Runtime | None = PrivateAttr(default=None)

    @classmethod
    def of(
        cls,
        real: BaseTool,
        world: World,
        *,
        refusal: AgentworldError | None = None,
        start: WorldRef | None = None,
    ) -> SimulatedTool:
        """For this package; use `simulate`. A `refusal` is what every call fails with."""
        made = cls(
            **{name: getattr(real, name) for name in KEPT},
            args_schema=real.args_schema or real.get_input_schema(),
            func=_runtime_only,
            coroutine=cast("Any", _runtime_only),
            handle_tool_error=real.handle_tool_error or True,
        )
        made._handle = handle_of(world)
        made._world = world
        made._start = start or world.ref
        made._real_injected = real._injected_args_keys
        made._shown = _visible_arguments(real)
        made._gives_objects = gives_objects(real)
        made._refusal = refusal
        return made

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._world

    def in_call(self, runtime: Runtime) -> SimulatedTool:
        """This tool for one call of a node that does not know it: a node injects what its own tools
        ask for, and a tool that takes their place would not learn where its call stands."""
        called = self.model_copy()
        called._runtime = runtime
        return called

    def run(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """As for every tool; callbacks find the world's id in the metadata."""
        return super().run(tool_input, *args, **self._with_metadata(kwargs))

    async def arun(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """As `run`."""
        return await super().arun(tool_input, *args, **self._with_metadata(kwargs))

    def _with_metadata(self, options: Mapping[str, Any]) -> dict[str, Any]:
        told = cast("dict[str, Any]", options.get("metadata") or {})
        metadata = {**told, **start_metadata(self.world)}
        return {**options, "metadata": metadata, "tags": [*(options.get("tags") or ()), SIMULATED]}

    @cached_property
    def _injected_args_keys(self) -> frozenset[str]:
        return self._real_injected | {RUNTIME_ARGUMENT}

    def _to_args_and_kwargs(
        self, tool_input: str | dict[str, Any], tool_call_id: str | None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """LangChain's validation, then our call instead of the tool's own parameters."""
        given = tool_input if isinstance(tool_input, dict) else {}
        runtime = _runtime_in(given) or self._runtime
        try:
            positional, keyword = super()._to_args_and_kwargs(tool_input, tool_call_id)
        except BaseException:
            if runtime is not None:
                self._will_not_ask(runtime)
            raise
        if positional:
            keyword = {next(iter(self.args)): positional[0]}
        call = ToolCall(self.name, self._arguments(keyword, given), tool_call_id or "")
        return (), {"call": call, RUNTIME_ARGUMENT: runtime}

    def _arguments(self, parsed: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """What the model asked for, as JSON: validated, with defaults, without injected values."""
        shown = self._shown
        return {
            name: _plain(value)
            for name, value in parsed.items()
            if name not in self._injected_args_keys
            and (shown is None or name in shown)
            # A default of `None` often does not fit the schema of its own argument: it means unset.
            and (value is not None or name in given)
        }

    def _will_not_ask(self, runtime: Runtime) -> None:
        entered = self._handle.enter_node(runtime, MESSAGES, self._start)
        if entered is not None:
            attempt, call = entered.attempt, entered.site.call
            attempt.arrived.add(call)
            if not attempt.supervised:
                attempt.end(call)

    async def _enter(self, call: ToolCall, runtime: Runtime | None) -> EnclosingCall | None:
        """The call where it stands: in a tool node, in a task of the functional API, or nowhere."""
        if runtime is not None:
            return self._handle.enter_node(runtime, MESSAGES, self._start)
        graphs = parent_graphs()
        copy = copy_among(graphs)
        task = site_in_task(self.name, call.id)
        site = task or site_in_function(call.id)
        if site is None or not (task or copy or self._handle.calls_around(site)):
            return None
        ref = await ref_of_thread(graphs[0], self.world.id) or ref_of_function(graphs)
        entered = self._handle.enter(site, lambda: ref, self._start)
        if copy and not task and not entered.outer:
            follow_writes(entered.chain, copy, HIDDEN_CHANNEL)
        return entered

    def _run(self, *args: Any, run_manager: Any = None, **kwargs: Any) -> Any:
        return run_sync(self._answer(kwargs["call"], kwargs[RUNTIME_ARGUMENT], run_manager))

    async def _arun(self, *args: Any, run_manager: Any = None, **kwargs: Any) -> Any:
        return await self._answer(kwargs["call"], kwargs[RUNTIME_ARGUMENT], run_manager)

    async def _answer(self, call: ToolCall, runtime: Runtime | None, run: object = None) -> Any:
        entered = await self._enter(call, runtime)
        try:
            if self._refusal is not None:
                raise self._refusal
            answered = await self._handle.answer(call, entered, on_delta=delta_reader(runtime))
        except ArgumentsError as error:
            # JSON schemas are not checked by LangChain; the real tool's server would say so itself.
            return self._failure_message(str(error), call, None)
        except GraphBubbleUp:
            raise
        except Exception as error:
            if entered is None:
                raise
            raise SimulationInterrupted(as_ours(error)) from error
        if entered is not None:
            entered.write_ref(None if runtime is None else runtime.config)
        update_traces(run, answered.mark)
        if answered.observation.is_error:
            return self._failure_message(answered.observation.text, call, answered)
        artifact = {"structured_content": answered.observation.structured}
        content = self._message(answered.observation.text, call, answered, artifact)
        if self._gives_objects and not call.id:
            # Who calls the tool without an agent reads what it returns, and no message.
            with suppress(ValueError):
                content = json.loads(content)
        return (content, artifact) if self.response_format == "content_and_artifact" else content

    def _failure_message(self, text: str, call: ToolCall, answered: CallAnswer | None) -> Any:
        """An error the agent sees, as LangChain makes one of a `ToolException`."""
        error = ToolException(text)
        if not call.id:
            raise error
        content: Any = text
        if isinstance(self.handle_tool_error, str):
            content = self.handle_tool_error
        elif callable(self.handle_tool_error):
            content = self.handle_tool_error(error)
        message = self._message(content, call, answered, None, error=True)
        return (message, None) if self.response_format == "content_and_artifact" else message

    def _message(
        self,
        content: Any,
        call: ToolCall,
        answered: CallAnswer | None,
        artifact: object,
        *,
        error: bool = False,
    ) -> Any:
        """The message LangChain would make of the content, with our mark; outside of tool calls the
        content itself."""
        if not call.id:
            return content
        message = ToolMessage(
            content,
            artifact=artifact if self.response_format == "content_and_artifact" else None,
            tool_call_id=call.id,
            name=self.name,
            status="error" if error else "success",
        )
        if answered is not None:
            message.additional_kwargs[MARK] = answered.mark
        return message


def _runtime_only(agentworld_runtime: Runtime | None = None) -> Any:
    """A tool node reads here that it is to give us its runtime."""
    raise AssertionError("a simulated tool answers in `_run`")


def simulate(
    tool: BaseTool | Callable[..., Any],
    world: World | HoldsWorld | str | None = None,
    *,
    binds_to: str | None = None,
    access: ToolAccess = "simulate",
    **options: Unpack[WorldOptions],
) -> SimulatedTool:
    """The same tool, answered by a world. The real tool is never called.

    Name, description, schema, response format, tags, metadata, callbacks and extras are the tool's own.
    Values that a graph injects (`InjectedState`, `ToolRuntime`, …) are dropped before anything is
    recorded.

    Args:
        tool: The real tool, or a function as `ToolNode` takes them.
        world: The world that answers, or what holds one; the id of one in `store`; or nothing, for a
            fresh one of this tool's own.
        binds_to: What the tool is, for example `claude-code/Bash`; found by its name and schema by
            default.
        access: `refuse` keeps the tool, and fails the run when it is called.
        options: `scenario`, `store`, `model`, `controls` and `answers`, as `WorldOptions` says.

    Raises:
        AccessRefused: the tool binds to nothing. The message says how to bind it.
        UsageError: `binds_to` does not exist, the world has another tool of that name, or `answers` names
            another tool.
    """
    if access not in ("simulate", "refuse"):
        raise UsageError(
            f"access={access!r}: give the real tool itself to the graph, or list it by name in"
            " SimToolNode(access={…: 'real'})."
        )
    real = tool if isinstance(tool, BaseTool) else tool_from(tool)
    for name in options.get("answers") or ():
        if name != real.name:
            raise UsageError(f"answers names {name!r}, and the tool is {real.name!r}.")
    return simulate_in(real, world_of(world, **options), binds_to=binds_to, access=access)


def simulate_in(
    real: BaseTool,
    world: World,
    *,
    binds_to: str | None = None,
    access: ToolAccess = "simulate",
    start: WorldRef | None = None,
) -> SimulatedTool:
    """`simulate` for the tools of a node."""
    refusal: AgentworldError | None = None
    if access == "simulate":
        bind(real, world, binds_to=binds_to)
    else:
        refusal = AccessRefused(
            f"{real.name!r} is refused: access={{{real.name!r}: 'refuse'}} says so."
        )
    return SimulatedTool.of(real, world, refusal=refusal, start=start)


def _visible_arguments(real: BaseTool) -> frozenset[str] | None:
    """The arguments the model is told of; `None` for a JSON schema, which may leave it open."""
    shown: Any = real.tool_call_schema
    if isinstance(shown, dict):
        return None
    return frozenset(shown.model_fields if issubclass(shown, BaseModel) else shown.__fields__)


def _runtime_in(given: Mapping[str, Any]) -> Runtime | None:
    """The runtime a tool node gave: in our argument, or in the one of the real tool's schema."""
    for value in given.values():
        if isinstance(value, ToolRuntime):
            return cast("Runtime", value)
    return None


def _plain(value: Any) -> Any:
    """`value` as JSON has it: paths, enumerations, dates and nested models become what was sent."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    return to_jsonable_python(value, by_alias=True, fallback=str)


METADATA_KEY = "agentworld_world"
"""The world's id."""

SIMULATED = "simulated"
"""The tag of a call that a world answers."""

PREFIX = "agentworld_"


def start_metadata(world: World) -> dict[str, Any]:
    """The metadata of a call before it is answered."""
    told: dict[str, Any] = {METADATA_KEY: world.id, f"{PREFIX}simulated": True}
    if world.model is not None and world.model.name:
        told[f"{PREFIX}model"] = world.model.name
    return told


def update_traces(run: Any, mark: Mark) -> None:
    """Adds to the metadata of a call's run what is known of it now."""
    if run is None:
        return
    for handler in run.handlers:
        traced = isinstance(handler, BaseTracer) and handler.run_map.get(str(run.run_id))
        if traced:
            traced.metadata.update({f"{PREFIX}{name}": value for name, value in mark.items()})
