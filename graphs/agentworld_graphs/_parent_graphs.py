"""The graphs around a call, as LangGraph's private parts show them: their channels, tasks and checkpoints. What
a world's ref is read from and written to.

Like deepagents' own `StateBackend` this reads and writes a graph's state through functions that LangGraph puts
into the config of every task. Canary tests pin the names below; without them calls are still answered, and
parallel ones are ordered as they come.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from langchain_core.messages import BaseMessage
from langgraph.config import get_config
from langgraph.prebuilt import ToolRuntime

from agentworld_graphs._thread_refs import CHANNEL, HIDDEN_CHANNEL, join_tips, marks_of, ref_in
from agentworld_sim import WorldRef
from agentworld_sim.runtime.sync import in_sync_call

if TYPE_CHECKING:
    from agentworld_graphs._call_order import CallSequence

RUNNER_KEY = "__pregel_call"
"""In a task's config: a `partial` whose first argument is a weak reference to the task, and whose
keyword `futures` is one to the mapping of the tasks that run in the same step."""

LOOP_ARGUMENT = "schedule_task"
"""The runner's keyword with a method of the loop that runs the graph. The loop's config is that of the
task around it, when the graph is a subgraph."""

READ_KEY = "__pregel_read"
"""A function that reads a channel of the graph; with a second argument that is true, with what the task itself
wrote."""

SEND_KEY = "__pregel_send"
"""A function that writes channels: a list of pairs."""

RUNTIME_KEY = "__pregel_runtime"

RESUMING_KEY = "__pregel_resuming"
"""Whether the run goes on from a checkpoint, some of whose tasks may be done."""

CHECKPOINTER_KEY = "__pregel_checkpointer"

CHECKPOINTS_KEY = "checkpoint_map"
"""By namespace: the checkpoint at which each graph around a task stands."""

PREVIOUS = "__previous__"
"""The channel with what the entrypoint saved."""

AnyFuture = concurrent.futures.Future[Any] | asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class ParentGraph:
    """One graph of a run, and the task in it that a call belongs to."""

    configurable: Mapping[str, Any]
    task: Any
    """LangGraph's task; `None` when it cannot be told."""
    futures: Mapping[AnyFuture, Any] | None
    """The tasks of the same step, by their futures. It lives as long as this attempt at the step."""

    def read(self, channel: str = CHANNEL, *, fresh: bool = True) -> Any:
        """The value of a channel, empty before the first call; `None` when the graph has no such channel. With
        what this task has written if `fresh`; otherwise as it was before the step."""
        try:
            value = self.configurable[READ_KEY](channel, fresh)
        except KeyError:
            return None
        return "" if value is None else value

    def has(self, channel: str = CHANNEL) -> bool:
        """Whether the graph's state has a channel."""
        return self.read(channel, fresh=False) is not None

    def send(self, ref: str, channel: str = CHANNEL) -> None:
        """Writes a channel, in place of what this task wrote there before."""
        writes: object = getattr(self.task, "writes", None)
        if writes is not None:
            # Two writes of one channel would change the form of what `stream_mode="updates"` gives.
            written = cast("MutableSequence[tuple[str, Any]]", writes)
            for one in [one for one in written if one[0] == channel]:
                with suppress(ValueError):
                    written.remove(one)
        self.configurable[SEND_KEY]([(channel, ref)])

    @property
    def info(self) -> Any:
        """What LangGraph tells of the execution: thread, checkpoint, task, attempt; `None` where it does not."""
        return getattr(self.configurable.get(RUNTIME_KEY), "execution_info", None)

    @property
    def call(self) -> str:
        """The id of the tool call that the task was sent for; empty when it runs something else."""
        return sent_call(getattr(self.task, "input", None)) or ""

    def earlier_tasks(self) -> list[tuple[AnyFuture, Any]]:
        """The unfinished tasks of the step that were submitted before this one, in the order of the calls.
        Waiting only for those cannot block a pool of few threads."""
        found: list[tuple[AnyFuture, Any]] = []
        for future, task in list((self.futures or {}).items()):
            if task is self.task:
                return found
            if task is not None and not future.done():
                found.append((future, task))
        return []


def sent_call(given: object) -> str | None:
    """The id of the call a task was sent for; `None` when it was given a whole state."""
    if isinstance(given, Mapping):
        inner: object = cast("Mapping[str, object]", given).get("tool_call")
    elif isinstance(given, list) and len(cast("list[object]", given)) == 1:
        inner = cast("list[object]", given)[0]
    else:
        return None
    return str(inner.get("id") or "") if is_call(inner) else None


def is_call(given: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is a tool call."""
    return isinstance(given, Mapping) and {"name", "args"} <= set(cast("Mapping[str, Any]", given))


def parent_graphs(config: Mapping[str, Any] | None = None) -> list[ParentGraph]:
    """The graphs around the task of `config`, of this call by default; the innermost first, none outside of a
    graph."""
    found: list[ParentGraph] = []
    try:
        around: Any = config or get_config()
    except RuntimeError:
        return found
    while True:
        configurable: Mapping[str, Any] = around.get("configurable") or {}
        if READ_KEY not in configurable or SEND_KEY not in configurable:
            return found
        runner: Any = configurable.get(RUNNER_KEY)
        try:
            task, futures = runner.args[0](), runner.keywords["futures"]()
            found.append(ParentGraph(configurable, task, futures))
            around = runner.keywords[LOOP_ARGUMENT].__self__.config
        except (AttributeError, IndexError, KeyError, TypeError):
            return found or [ParentGraph(configurable, None, None)]


_guard = threading.Lock()


def write_ref(
    chain: CallSequence, graphs: Sequence[ParentGraph], copied: Iterable[ParentGraph]
) -> None:
    """Writes where the world stands into the states of graphs, the one place where that is done: of the nearest of
    `graphs` that has the channel `sim_ref`, and of the nearest of `copied` that `simulate_graph` made."""
    with _guard:
        chain.written = chain.tip
        home = next((one for one in graphs if one.has()), None)
        if home is not None:
            home.send(chain.tip)
        copy = copy_among(copied)
        if copy is not None:
            before, written = (copy.read(HIDDEN_CHANNEL, fresh=fresh) for fresh in (False, True))
            # A function may call several agents at once: each of them is a branch.
            copy.send(join_tips(before, (written, chain.tip)), HIDDEN_CHANNEL)


def follow_writes(chain: CallSequence, graph: ParentGraph, channel: str = CHANNEL) -> None:
    """Goes on where others, an agent that was called for example, have left the world in the same task."""
    with _guard:
        here = graph.read(channel)
        if here and here not in (graph.read(channel, fresh=False), chain.written):
            chain.tip = here


def copy_among(graphs: Iterable[ParentGraph]) -> ParentGraph | None:
    """The nearest graph that is a copy made by `simulate_graph`."""
    return next((one for one in graphs if one.has(HIDDEN_CHANNEL)), None)


def ref_of_node(runtime: ToolRuntime[Any, Any], *, world: str, key: str) -> WorldRef | None:
    """Where the thread stands whose tool node calls; `None` at its beginning. A worker that was given a state of
    its own begins where the graph stands that sent it out.
    """
    own = ref_in(cast("object", runtime.state), world=world, key=key)
    graphs = parent_graphs(runtime.config)
    if own:
        copy = None if graphs and graphs[0].has() else copy_among(graphs)
        # A function of the same graph leaves no mark: where it left the world stands in the copy.
        hidden = copy and copy.read(HIDDEN_CHANNEL)
        return join_tips("", (own, hidden)) if hidden else own
    for graph in graphs:
        state = {name: graph.read(name) for name in (CHANNEL, key)}
        ref = graph.read(HIDDEN_CHANNEL) or ref_in(state, world=world, key=key)
        if ref:
            return ref
    return None


def ref_of_function(graphs: Sequence[ParentGraph]) -> WorldRef | None:
    """Where the graph stands whose function calls; `None` where nothing shows it."""
    # A tool node of the same graph writes `sim_ref`, if the state has it.
    copy = copy_among(graphs)
    own = graphs[0].read() if graphs else None
    return own or (copy and copy.read(HIDDEN_CHANNEL)) or None


RUNS = 64
"""How many checkpoints back a thread's last tool message is looked for."""

DEPTH = 6
"""How deep in what an entrypoint saved messages are looked for."""


async def ref_of_thread(graph: ParentGraph, world: str) -> WorldRef | None:
    """Where the thread of an entrypoint stands in a world; `None` at its beginning.

    A task has no state. Its thread's place is found in what LangGraph keeps of the thread: the tool messages in
    what the entrypoint saved (`previous`), or those that the tasks of earlier runs returned.
    """
    previous: object = graph.read(PREVIOUS, fresh=False)
    ref = ref_in(list(_messages(previous, DEPTH)), world=world)
    saver: Any = graph.configurable.get(CHECKPOINTER_KEY)
    if ref is not None or previous in (None, "") or saver is None or isinstance(saver, bool):
        return ref
    config = checkpoint_config(graph.info, "")
    for number in range(RUNS):
        kept = await read_checkpoint(saver, config)
        if kept is None:
            return None
        # The first is that of this run.
        answers = [value for _, _, value in kept.pending_writes or () if marks_of(value)]
        ref = ref_in(answers, world=world) if number else None
        if ref is not None or kept.parent_config is None:
            return ref
        config = kept.parent_config
    return None


def _messages(value: object, depth: int) -> Iterator[BaseMessage]:
    """The messages in what an entrypoint saved, in order."""
    if isinstance(value, BaseMessage):
        yield value
    elif depth and isinstance(value, Mapping | list | tuple):
        held: Any = value.values() if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        for inner in held:
            yield from _messages(inner, depth - 1)


def checkpoint_config(info: Any, namespace: str) -> Any:
    """What names the checkpoint at which a step of a thread began."""
    names = {"thread_id": info.thread_id, "checkpoint_id": info.checkpoint_id}
    return {"configurable": {**names, "checkpoint_ns": namespace}}


async def read_checkpoint(saver: Any, config: Any) -> Any:
    """A checkpoint, from a saver of either kind; `None` when there is none."""
    if not in_sync_call():
        with suppress(NotImplementedError):
            return await saver.aget_tuple(config)
    return await asyncio.to_thread(saver.get_tuple, config)
