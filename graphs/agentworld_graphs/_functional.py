"""Where a tool call stands that a function makes itself: a `@task` of LangGraph's functional API, or the
function of a node in a copy that `simulate_graph` made.

A task has no state. Its thread's place in the world is found in what LangGraph keeps of the thread:
the tool messages in what the entrypoint saved (`previous`), or those that the tasks of earlier runs
returned. Parallel tasks are answered in the order in which they were started.

Reads LangGraph's private parts (the names below), pinned by a canary test.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

from langchain_core.messages import BaseMessage
from langgraph.config import get_config

from agentworld_graphs._batches import Batch
from agentworld_graphs._levels import levels, ref_of_copy, write_ref, write_ref_around
from agentworld_graphs._place import RESUMING_KEY, RUNNER_KEY, AnyFuture, Place
from agentworld_graphs._refs import marks_of, ref_in
from agentworld_sim import WorldRef
from agentworld_sim.runtime.sync import in_sync_call

RUNTIME_KEY = "__pregel_runtime"
READ_KEY = "__pregel_read"
SAVER_KEY = "__pregel_checkpointer"
PREVIOUS = "__previous__"
"""The channel with what the entrypoint saved."""

RUNS = 64
"""How many checkpoints back a thread's last tool message is looked for."""

DEPTH = 6
"""How deep in what an entrypoint saved messages are looked for."""


def place_in_task(tool: str, call: str) -> Place | None:
    """The place of a call that a `@task` makes; `None` anywhere else.

    Args:
        tool: The name of the tool that is called.
        call: The call's id, if it has one.
    """
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
    return Place(
        step=(info.thread_id, info.checkpoint_id),
        task=info.task_id,
        call=call,
        attempt=info,
        pass_=futures,
        earlier=tuple((id, tool) for id in tasks),
        tasks=tasks,
        known=True,
    )


def place_in_function(call: str) -> Place | None:
    """The place of a call that the function of a node makes itself; `None` outside of a graph.

    Args:
        call: The call's id, if it has one.
    """
    configurable = _configurable()
    info: Any = getattr(configurable.get(RUNTIME_KEY), "execution_info", None)
    if info is None:
        return None
    step = info.checkpoint_id
    if not _in_entrypoint(configurable):
        # Nodes that run side by side each begin where the step began. An entrypoint is alone, and goes
        # on where its tasks are.
        step = f"{step}:{info.task_id}"
    return Place(
        step=(info.thread_id, step),
        task=info.task_id,
        call=call,
        attempt=info,
        pass_=info,
        earlier=(),
        tasks=None,
        known=True,
        resumed=bool(configurable.get(RESUMING_KEY)),
    )


def ref_of_function() -> WorldRef | None:
    """Where the copy of a graph stands whose function calls; `None` where there is none."""
    # A tool node of the same graph writes `sim_ref`, if the state has it.
    level = next(iter(levels()), None)
    own = level.ref(fresh=True) if level is not None and level.has_channel else ""
    return own or ref_of_copy(get_config())


def follow_agents(batch: Batch) -> None:
    """Goes on where an agent left the world that the same function called since its last own call."""
    config = get_config()
    here = ref_of_copy(config)
    with _guard:
        began = ref_of_copy(config, fresh=False)
        if here is not None and here not in (began, _written.get(batch)):
            batch.tip = here


def write_ref_of_function(batch: Batch) -> None:
    """Tells the copy of a graph where the calls of its function have left the world."""
    with _guard:
        _written[batch] = batch.tip
        write_ref_around(get_config(), batch.tip, own=True)
        write_ref(get_config(), batch.tip)


_written: WeakKeyDictionary[Batch, WorldRef] = WeakKeyDictionary()
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
    saver: Any = configurable.get(SAVER_KEY)
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
        kept = await _kept(saver, config)
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


async def _kept(saver: Any, config: Any) -> Any:
    """A checkpoint, from a saver of either kind."""
    if in_sync_call():
        return await asyncio.to_thread(saver.get_tuple, config)
    return await saver.aget_tuple(config)
