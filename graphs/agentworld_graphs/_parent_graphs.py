"""Where a call stands that gets no runtime: in which graphs, in which `@task` of the functional API, or in which
function of a copy that `simulate_graph` made.

Like deepagents' own `StateBackend`, what stands here reads and writes a graph's state through functions
that LangGraph puts into the config of every task. The names below are LangGraph's private parts; a
canary test pins them.

A task has no state. Its thread's place in the world is found in what LangGraph keeps of the thread:
the tool messages in what the entrypoint saved (`previous`), or those that the tasks of earlier runs
returned. Parallel tasks are answered in the order in which they were started.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableSequence, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from langgraph.config import get_config

from agentworld_graphs._call_order import CallBatch
from agentworld_graphs._call_site import (
    CHECKPOINTER_KEY,
    READ_KEY,
    RESUMING_KEY,
    RUNNER_KEY,
    AnyFuture,
    CallSite,
    sent_call,
)
from agentworld_graphs._thread_refs import CHANNEL, HIDDEN_CHANNEL, join_tips, marks_of, ref_in
from agentworld_sim import WorldRef
from agentworld_sim.runtime.sync import in_sync_call

SEND_KEY = "__pregel_send"
"""Writes channels: a list of pairs."""

RUNTIME_KEY = "__pregel_runtime"

LOOP_ARGUMENT = "schedule_task"
"""The runner's keyword with a method of the loop that runs the graph. The loop's config is that of the
task around it, when the graph is a subgraph."""


@dataclass(frozen=True, slots=True)
class ParentGraph:
    """One graph of a run, and the task in it that the call belongs to."""

    configurable: Mapping[str, Any]
    task: Any
    """LangGraph's task; `None` when it cannot be told."""
    siblings: tuple[tuple[AnyFuture, Any], ...]
    """The tasks of the same step that were submitted before this one, with their futures."""

    @property
    def has_channel(self) -> bool:
        """Whether the graph's state has `sim_ref`."""
        try:
            self.ref(fresh=False)
        except KeyError:
            return False
        return True

    def ref(self, *, fresh: bool) -> str:
        """The value of `sim_ref`; empty before the first call.

        Args:
            fresh: With what this task has written; otherwise as it was before the step.

        Raises:
            KeyError: the graph has no such channel.
        """
        # With the second argument, what the task itself wrote counts.
        return self.configurable[READ_KEY](CHANNEL, fresh) or ""

    def send(self, ref: str, channel: str = CHANNEL) -> None:
        """Writes `sim_ref`, in place of what this task wrote before."""
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
        """What LangGraph tells of the execution: thread, checkpoint, task, attempt."""
        return self.configurable[RUNTIME_KEY].execution_info

    @property
    def call(self) -> str:
        """The id of the tool call that the task was sent for; empty when it runs something else."""
        return sent_call(getattr(self.task, "input", None)) or ""

    @property
    def earlier_calls(self) -> Iterator[AnyFuture]:
        """The unfinished tool calls of the same message that come before this one."""
        for future, task in self.siblings:
            if not future.done() and sent_call(task.input) is not None:
                yield future


def parent_graphs() -> list[ParentGraph]:
    """The graphs around this call, the innermost first; none outside of a graph."""
    try:
        return _parent_graphs_of(get_config())
    except RuntimeError:
        return []


def has_channel(config: Mapping[str, Any]) -> bool:
    """Whether the graph that `config` is of has the channel `sim_ref`."""
    level = next(iter(_parent_graphs_of(config)), None)
    return level is not None and level.has_channel


def write_ref(config: Mapping[str, Any], ref: str) -> None:
    """Writes `sim_ref` into the state of the graph that `config` is of, if it has the channel."""
    level = next(iter(_parent_graphs_of(config)), None)
    if level is not None and level.has_channel:
        level.send(ref)


def keeps_hidden_ref() -> bool:
    """Whether this is called inside of a copy that `simulate_graph` made."""
    return _copy_among(parent_graphs()) is not None


def ref_of_copy(config: Mapping[str, Any], *, fresh: bool = True) -> str | None:
    """Where the copy of a graph stands (`simulate_graph`) that a function of `config`'s graph is in; `None`
    where there is none, or nothing was done in it yet.
    """
    level = _copy_among(_parent_graphs_of(config))
    return None if level is None else level.configurable[READ_KEY](HIDDEN_CHANNEL, fresh) or None


def ref_around(config: Mapping[str, Any], *, world: str, key: str) -> str | None:
    """Where the graph of `config` stands, or those inside of which it runs, the nearest first: a worker that
    was given a state of its own begins where the graph stands that sent it out.
    """
    for level in _parent_graphs_of(config):
        state: dict[str, Any] = {}
        for channel in (HIDDEN_CHANNEL, CHANNEL, key):
            with suppress(KeyError):
                state[channel] = level.configurable[READ_KEY](channel, True)
        ref = state.get(HIDDEN_CHANNEL) or ref_in(state, world=world, key=key)
        if ref:
            return ref
    return None


def write_ref_around(config: Mapping[str, Any], ref: str, *, own: bool = False) -> None:
    """Tells the copy of a graph around `config`'s graph, if there is one, where it stands now."""
    level = _copy_among(_parent_graphs_of(config)[not own :])
    if level is not None:
        before = level.configurable[READ_KEY](HIDDEN_CHANNEL, False)
        written = level.configurable[READ_KEY](HIDDEN_CHANNEL, True)
        # A function may call several agents at once: each of them is a branch.
        level.send(join_tips(before, (written, ref)), HIDDEN_CHANNEL)


def _copy_among(found: Iterable[ParentGraph]) -> ParentGraph | None:
    for level in found:
        with suppress(KeyError):
            level.configurable[READ_KEY](HIDDEN_CHANNEL, False)
            return level
    return None


def _parent_graphs_of(config: Mapping[str, Any]) -> list[ParentGraph]:
    found: list[ParentGraph] = []
    while True:
        configurable: Mapping[str, Any] = config.get("configurable") or {}
        if READ_KEY not in configurable or SEND_KEY not in configurable:
            return found
        runner: Any = configurable.get(RUNNER_KEY)
        try:
            task, futures = runner.args[0](), runner.keywords["futures"]()
            around = runner.keywords[LOOP_ARGUMENT].__self__.config
        except (AttributeError, IndexError, KeyError, TypeError):
            return [*found, ParentGraph(configurable, None, ())]
        found.append(ParentGraph(configurable, task, _earlier_tasks(task, futures)))
        config = around


def keeps_checkpoints(found: Iterable[ParentGraph]) -> bool:
    """Whether the run can be gone back in."""
    return any(level.configurable.get(CHECKPOINTER_KEY) for level in found)


def _earlier_tasks(
    own: object, futures: Mapping[AnyFuture, Any] | None
) -> tuple[tuple[AnyFuture, Any], ...]:
    found: list[tuple[AnyFuture, Any]] = []
    for future, task in list((futures or {}).items()):
        # Tasks are submitted in the order of the calls. Waiting only for those submitted earlier
        # cannot block a pool of few threads.
        if task is own:
            return tuple(found)
        if task is not None:
            found.append((future, task))
    return ()


PREVIOUS = "__previous__"
"""The channel with what the entrypoint saved."""

RUNS = 64
"""How many checkpoints back a thread's last tool message is looked for."""

DEPTH = 6
"""How deep in what an entrypoint saved messages are looked for."""


def site_in_task(tool: str, call: str) -> CallSite | None:
    """The place of a call that a `@task` makes; `None` anywhere else."""
    configurable = _configurable()
    try:
        runner: Any = configurable[RUNNER_KEY]
        own, futures = runner.args[0](), runner.keywords["futures"]()
        info = configurable[RUNTIME_KEY].execution_info
        entries = list(futures.items())
    except (AttributeError, IndexError, KeyError, TypeError):
        return None
    if own is None or info is None or not _is_called(own):
        return None
    tasks: dict[str, AnyFuture] = {}
    for future, task in cast("list[tuple[AnyFuture, Any]]", entries):
        # Of other tasks nothing shows that they call tools: waiting for them would cost their time.
        if task is own or task is None or future.done() or not _comes_before(task, own):
            continue
        if task.name == own.name or _has_call(task.input):
            tasks[task.id] = future
    return CallSite(
        step=(info.thread_id, info.checkpoint_id),
        task=info.task_id,
        call=call,
        attempt=info,
        step_attempt=futures,
        earlier=tuple((id, tool) for id in tasks),
        tasks=tasks,
        known=True,
    )


def site_in_function(call: str) -> CallSite | None:
    """The place of a call that the function of a node makes itself; `None` outside of a graph."""
    configurable = _configurable()
    info: Any = getattr(configurable.get(RUNTIME_KEY), "execution_info", None)
    if info is None:
        return None
    step = info.checkpoint_id
    if not _in_entrypoint(configurable):
        # Nodes that run side by side each begin where the step began. An entrypoint is alone, and goes
        # on where its tasks are.
        step = f"{step}:{info.task_id}"
    return CallSite(
        step=(info.thread_id, step),
        task=info.task_id,
        call=call,
        attempt=info,
        step_attempt=info,
        earlier=(),
        tasks=None,
        known=True,
        resumed=bool(configurable.get(RESUMING_KEY)),
    )


def ref_of_function() -> WorldRef | None:
    """Where the copy of a graph stands whose function calls; `None` where there is none."""
    # A tool node of the same graph writes `sim_ref`, if the state has it.
    level = next(iter(parent_graphs()), None)
    own = level.ref(fresh=True) if level is not None and level.has_channel else ""
    return own or ref_of_copy(get_config())


def follow_agents(batch: CallBatch) -> None:
    """Goes on where an agent left the world that the same function called since its last own call."""
    config = get_config()
    here = ref_of_copy(config)
    with _guard:
        began = ref_of_copy(config, fresh=False)
        if here is not None and here not in (began, _written.get(batch)):
            batch.tip = here


def write_ref_of_function(batch: CallBatch) -> None:
    """Tells the copy of a graph where the calls of its function have left the world."""
    with _guard:
        _written[batch] = batch.tip
        write_ref_around(get_config(), batch.tip, own=True)
        write_ref(get_config(), batch.tip)


_written: WeakKeyDictionary[CallBatch, WorldRef] = WeakKeyDictionary()
"""What was written last. Anything else that is found there is an agent's."""

_guard = threading.Lock()


async def ref_of_thread(world: str) -> WorldRef | None:
    """Where the thread of the running entrypoint stands in a world; `None` at its beginning."""
    configurable = _configurable()
    try:
        previous: object = configurable[READ_KEY](PREVIOUS, False)
    except KeyError:
        return None
    ref = ref_in(list(_messages(previous, DEPTH)), world=world)
    if ref is not None:
        return ref
    saver: Any = configurable.get(CHECKPOINTER_KEY)
    if previous is None or saver is None or isinstance(saver, bool):
        return None
    info = configurable[RUNTIME_KEY].execution_info
    config: Any = {
        "configurable": {
            "thread_id": info.thread_id,
            "checkpoint_ns": "",
            "checkpoint_id": info.checkpoint_id,
        }
    }
    for number in range(RUNS):
        kept = await _checkpoint(saver, config)
        if kept is None:
            return None
        # The first is that of this run.
        answers = [value for _, _, value in kept.pending_writes or () if marks_of(value)]
        ref = ref_in(answers, world=world) if number else None
        if ref is not None or kept.parent_config is None:
            return ref
        config = kept.parent_config
    return None


def _configurable() -> Mapping[str, Any]:
    try:
        return get_config().get("configurable") or {}
    except RuntimeError:
        return {}


def _in_entrypoint(configurable: Mapping[str, Any]) -> bool:
    try:
        configurable[READ_KEY](PREVIOUS, False)
    except KeyError:
        return False
    return True


def _is_called(task: Any) -> bool:
    """Whether a task is one that was called, and not a node."""
    path: object = getattr(task, "path", ())
    return isinstance(path, tuple) and cast("tuple[Any, ...]", path)[-1:] == (True,)


def _comes_before(task: Any, own: Any) -> bool:
    return _is_called(task) and task.path[1] == own.path[1] and task.path[2] < own.path[2]


def _has_call(given: Any) -> bool:
    """Whether a task was given a tool call."""
    arguments, named = given
    return any(
        isinstance(one, Mapping) and {"name", "args", "id"} <= set(cast("Mapping[str, Any]", one))
        for one in (*arguments, *named.values())
    )


def _messages(value: object, depth: int) -> Iterator[BaseMessage]:
    """The messages in what an entrypoint saved, in order."""
    if isinstance(value, BaseMessage):
        yield value
    elif depth and isinstance(value, Mapping):
        for inner in cast("Mapping[str, object]", value).values():
            yield from _messages(inner, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for inner in cast("Sequence[object]", value):
            yield from _messages(inner, depth - 1)


async def _checkpoint(saver: Any, config: Any) -> Any:
    """A checkpoint, from a saver of either kind."""
    if in_sync_call():
        return await asyncio.to_thread(saver.get_tuple, config)
    return await saver.aget_tuple(config)
