"""What travels with a simulated run into everything that it calls.

LangChain hands the callbacks of a run on to all that is called in it: nodes, subgraphs, agents inside
tools, whatever thread they run under. So the handler here is where a tool node deep inside, or a tool
that a function calls, finds out that it is part of a simulation, and it stops a real tool or a
provider-side one that nothing caught. Where a function gives callbacks of its own, a context variable
adds the handler again.

To reach nodes that a graph does not show, `ToolNode._run_one` and `_arun_one` are replaced for the whole
process: private parts of LangGraph, pinned by a canary test. A node that is not part of a simulation goes
its usual way. Should LangGraph change, nothing real runs: the handler stops the tools that are not swapped.
While a simulated run lasts, LangChain's `BaseTool.run` and `BaseTool.arun` are replaced as well.
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langchain_core.tracers.context import register_configure_hook
from langgraph.prebuilt import ToolNode

from agentworld_graphs._interruption import SimulationInterrupted
from agentworld_graphs._simulate import METADATA_KEY, SimulatedTool
from agentworld_graphs._tool_selection import ToolSelection
from agentworld_graphs._world_handle import during
from agentworld_graphs.langchain_tool_specs import provider_side_among, refusal_of
from agentworld_sim import AccessRefused, AgentworldError, UsageError

_let_through: ContextVar[str | None] = ContextVar("_let_through", default=None)
"""The name of the real tool that a tool node of ours is about to run."""


Call = tuple[str, str]
"""The name of a tool and what it was given."""


@dataclass(slots=True)
class _Run:
    """A chain or a tool that runs."""

    around: UUID | None
    node: str | None
    """The node of a graph that it is part of."""
    call: Call | None = None
    inside: set[UUID] = field(default_factory=set[UUID])
    """What runs in it."""
    failures: dict[Call, AgentworldError] = field(default_factory=dict[Call, AgentworldError])
    """Calls inside of it that got no answer, and were not answered later."""


class SimulationWatch(BaseCallbackHandler):
    """Carries a simulation, stops what would get past it, and what goes on without its answer."""

    raise_error = True
    # In the caller's own context: a handler in a thread of its own could not stop anything.
    run_inline = True

    def __init__(self, choice: ToolSelection, *, seen: bool = True) -> None:
        self.choice = choice
        self.seen = seen
        """Whether there is anything that a world answers: found before the run, or met in it."""
        self._runs: dict[UUID, _Run] = {}

    def in_place_of(self, tool: BaseTool) -> BaseTool:
        """What runs where a function calls a tool itself."""
        if isinstance(tool, SimulatedTool) or tool.name == _let_through.get():
            return tool
        try:
            return self.choice.tool_for(tool)
        except AgentworldError as error:
            return SimulatedTool.of(tool, self.choice.world, refusal=error)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """Before a model is asked.

        Raises:
            SimulationInterrupted: it would be given provider-side tools.
        """
        given = cast("Mapping[str, Any]", kwargs.get("invocation_params") or {})
        self.seen = self.seen or bool(given.get("tools"))
        names = provider_side_among(given)
        if names:
            refusal = AccessRefused(
                "the model was not asked." + "".join(f"\n- {refusal_of(name)}" for name in names)
            )
            self._note(_around(kwargs), (names[0], ""), refusal)
            raise SimulationInterrupted(refusal)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """Before a tool runs.

        Raises:
            SimulationInterrupted: it is a real one that was not allowed.
        """
        self.seen = True
        name, around = str(serialized.get("name")), _around(kwargs)
        simulated = METADATA_KEY in (kwargs.get("metadata") or {})
        if simulated or name == _let_through.get() or self.choice.may_run(name):
            self._begin(run_id, _Run(around, None, (name, input_str)))
            return
        refusal = AccessRefused(
            f"the real tool {name!r} was about to run where nothing can take its place: it replaces"
            " LangChain's own `run`, or a middleware inside of SimulatedTools chose it. Give"
            " simulate(tool, world) there instead, put SimulatedTools last, or let the real tool"
            f" run (access={{{name!r}: 'real'}})."
        )
        self._note(around, (name, input_str), refusal)
        raise SimulationInterrupted(refusal)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """A tool gave no answer: whatever is around it must not go on as if it had."""
        run = self._end(run_id)
        if run is not None and run.call is not None and isinstance(error, AgentworldError):
            ours = error.error if isinstance(error, SimulationInterrupted) else error
            self._note(run.around, run.call, ours)

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """The same call may have failed before, and was tried again."""
        run = self._end(run_id)
        if run is None or run.call is None:
            return
        _require_answered(run, f"the tool {run.call[0]!r}")
        self._note(run.around, run.call, None)

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        **kwargs: Any,
    ) -> None:
        """A node, a graph or another chain begins."""
        self._begin(
            run_id,
            _Run(_around(kwargs), cast("Any", kwargs.get("metadata") or {}).get("langgraph_node")),
        )

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """It failed: nothing is hidden."""
        self._end(run_id)

    def on_chain_end(self, outputs: dict[str, Any], *, run_id: UUID, **kwargs: Any) -> None:
        """What is in it must have been answered."""
        run = self._end(run_id)
        if run is not None:
            where = "a function" if run.node is None else f"the node {run.node!r}"
            _require_answered(run, where)

    def _begin(self, run_id: UUID, run: _Run) -> None:
        self._runs[run_id] = run
        around = run.around and self._runs.get(run.around)
        if around:
            around.inside.add(run_id)

    def _end(self, run_id: UUID) -> _Run | None:
        """Forgets a run that ended, and what in it was cancelled: LangChain does not tell of that."""
        run = self._runs.pop(run_id, None)
        if run is not None:
            around = run.around and self._runs.get(run.around)
            if around:
                around.inside.discard(run_id)
            for inner in list(run.inside):
                self._end(inner)
        return run

    def _note(self, around: UUID | None, call: Call, error: AgentworldError | None) -> None:
        """Tells all that is around a call what became of it."""
        while around is not None and (run := self._runs.get(around)) is not None:
            if error is None:
                run.failures.pop(call, None)
            else:
                run.failures[call] = error
            around = run.around


def _require_answered(run: _Run, where: str) -> None:
    """
    Raises:
        SimulationInterrupted: a call in it got no answer, and the failure was caught.
    """
    if run.failures:
        (name, _), error = next(iter(run.failures.items()))
        raise SimulationInterrupted(
            error,
            f"{where} caught that {name!r} got no answer, and would have gone on: {error}",
        )


_running: ContextVar[SimulationWatch | None] = ContextVar("agentworld_running", default=None)
register_configure_hook(_running, inheritable=True)


def running(watch: SimulationWatch) -> AbstractContextManager[None]:
    """What is called within it is part of a simulation."""
    return during(_running, watch)


def let_through(name: str) -> AbstractContextManager[None]:
    """Lets one real tool run that may."""
    return during(_let_through, name)


def tool_in_place_of(tool: BaseTool, callbacks: object) -> BaseTool:
    """What runs where a tool is called: the tool itself, outside of a simulation."""
    watch = watch_of(callbacks)
    return tool if watch is None else watch.in_place_of(tool)


def watch_of(callbacks: object) -> SimulationWatch | None:
    """The simulation that a run with these callbacks is part of, if it is part of one."""
    managed = isinstance(callbacks, BaseCallbackManager)
    handlers = cast("Any", callbacks.handlers if managed else callbacks or ())
    found = (one for one in handlers if isinstance(one, SimulationWatch))
    return next(found, None) or _running.get()


def watch_from_here(config: RunnableConfig, choice: ToolSelection) -> SimulationWatch:
    """Makes what is called with `config` part of a simulation, if it is not part of one."""
    watch = watch_of(config.get("callbacks"))
    if watch is not None:
        return watch
    callbacks = config.get("callbacks")
    watch = SimulationWatch(choice)
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(watch, inherit=True)
        config["callbacks"] = manager
    else:
        config["callbacks"] = [*(callbacks or ()), watch]
    return watch


def _around(told: Mapping[str, Any]) -> UUID | None:
    """The run inside of which another begins, also where callbacks of its own hide that."""
    callbacks = (var_child_runnable_config.get() or {}).get("callbacks")
    return told.get("parent_run_id") or getattr(callbacks, "parent_run_id", None)


METHODS = ("_run_one", "_arun_one")
PARAMETERS = ["self", "call", "input_type", "tool_runtime"]

_guard = threading.Lock()
_originals: dict[str, Any] = {}
_everywhere: list[ToolSelection] = []
"""Simulations of every tool node of the process; the last one counts."""
_runs = 0
"""How many simulated runs last."""
_replaced: list[tuple[str, Any, Any]] = []
"""Of `BaseTool`: a method's name, what it was, what took its place."""


@contextmanager
def reach_called_tools() -> Generator[None]:
    """While it lasts, tools look whether they are called in a simulation."""
    global _runs
    with _guard:
        _runs += 1
        if _runs == 1:
            _replaced.extend(map(_replace_method, ("run", "arun")))
    try:
        yield
    finally:
        with _guard:
            _runs -= 1
            while _replaced and not _runs:
                name, original, ours = _replaced.pop()
                # Somebody may have put something on top, which ours stays under: it changes nothing there.
                if getattr(BaseTool, name) is ours:
                    setattr(BaseTool, name, original)


def _replace_method(name: str) -> tuple[str, Any, Any]:
    original = getattr(BaseTool, name)

    @wraps(original)
    def run_or_ask(self: BaseTool, *args: Any, **kwargs: Any) -> Any:
        tool = tool_in_place_of(self, kwargs.get("callbacks"))
        return (original if tool is self else getattr(type(tool), name))(tool, *args, **kwargs)

    setattr(BaseTool, name, run_or_ask)
    return name, original, run_or_ask


@contextmanager
def reach_all_nodes(choice: ToolSelection) -> Generator[None]:
    """While it lasts, every tool node of the process is part of this simulation.

    Raises:
        UsageError: this version of LangGraph does not let us.
    """
    reach_nested_nodes()
    _everywhere.append(choice)
    try:
        yield
    finally:
        _everywhere.remove(choice)


def simulated_copy(node: ToolNode, choice: ToolSelection) -> ToolNode:
    """A copy of a tool node whose calls a world answers. The user's wrappers stay around them."""
    from agentworld_graphs._tool_node import Interceptor

    made: Any = copy.copy(node)
    given: Any = node
    wrappers = given._wrap_tool_call, given._awrap_tool_call
    interceptor = Interceptor(choice, given._messages_key, None, *wrappers)
    made._wrap_tool_call, made._awrap_tool_call = interceptor.run, interceptor.arun
    # What a node calls is bound to the node it was made for.
    made.func, made.afunc = made._func, made._afunc
    made._agentworld_simulated = True
    return made


def is_simulated(node: ToolNode) -> bool:
    """Whether the calls of a tool node are answered by a world already."""
    return bool(getattr(node, "_agentworld_simulated", False))


def reach_nested_nodes() -> None:
    """From now on tool nodes look whether they run in a simulation.

    Raises:
        UsageError: this version of LangGraph does not let us.
    """
    with _guard:
        if _originals:
            return
        for name in METHODS:
            method = getattr(ToolNode, name, None)
            if method is None or list(inspect.signature(method).parameters) != PARAMETERS:
                raise UsageError(
                    f"this version of langgraph has no ToolNode.{name}({', '.join(PARAMETERS)}), through"
                    " which tool nodes are reached. Use a version that the extra 'graphs' allows, or"
                    " simulate the tools one by one (simulate(tool, world))."
                )
        _originals.update({name: getattr(ToolNode, name) for name in METHODS})
        for name, original in _originals.items():

            @wraps(original)
            def run_one(
                self: ToolNode, call: Any, input_type: Any, tool_runtime: Any, _own: Any = original
            ) -> Any:
                return _own(_node_for(self, tool_runtime), call, input_type, tool_runtime)

            setattr(ToolNode, name, run_one)


def _node_for(node: ToolNode, runtime: Any) -> ToolNode:
    """The node itself, or its copy in the simulation that it is part of."""
    if is_simulated(node):
        return node
    watch = watch_of(runtime.config.get("callbacks"))
    choice = watch.choice if watch is not None else (_everywhere[-1] if _everywhere else None)
    if choice is None:
        return node
    with _guard:
        known = choice.node_copies.get(node)
        if known is None:
            choice.offer(node.tools_by_name.values())
            known = choice.node_copies[node] = simulated_copy(node, choice)
        return known
