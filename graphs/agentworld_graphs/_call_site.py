"""Where in a run of a graph a tool call stands: which step, which task, which calls come before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Self, cast

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.prebuilt import ToolNode, ToolRuntime

from agentworld_graphs._parent_graphs import (
    CHECKPOINTER_KEY,
    CHECKPOINTS_KEY,
    PREVIOUS,
    READ_KEY,
    RESUMING_KEY,
    AnyFuture,
    ParentGraph,
    checkpoint_config,
    is_call,
    parent_graphs,
    read_checkpoint,
    sent_call,
)
from agentworld_graphs._thread_refs import Mark, marks_of, messages_in
from agentworld_sim.ports import OnDelta


@dataclass(frozen=True, slots=True)
class CallSite:
    """One attempt at one call of one message in one step of a run."""

    step: tuple[str | None, str]
    """Thread and checkpoint: the same when a run is resumed, new when it is replayed."""
    task: str
    call: str
    attempt: object
    """An object that lives as long as this attempt at the task."""
    step_attempt: object = None
    """An object that lives as long as this attempt at the step; `None` when that cannot be told."""
    earlier: tuple[tuple[str, str], ...] = ()
    """Id and tool name of the calls before this one in the message."""
    tasks: Mapping[str, AnyFuture] | None = None
    """When each call is a task of its own: the tasks of the earlier calls that are not done yet."""
    known: bool = True
    """Whether the call could be told apart from its siblings; ids are the model's and may repeat."""
    resumed: bool = True
    """Whether the step may have begun in an earlier run, whose answers the store has."""
    talk: str = ""
    """The id of the thread's first message, if it has one: a conversation of its own, whatever the
    thread is called."""
    before: tuple[AnyFuture, ...] = ()
    """The unfinished tasks of tool nodes that come before this one in the step, each with a message of its
    own."""
    written: Callable[[], Awaitable[list[Mark]]] | None = None
    """Reads what tasks of this step that were done before the run was resumed have answered."""

    @classmethod
    def of(cls, info: Any, call: str, **more: Any) -> Self:
        """The site of a call in the execution that LangGraph tells of."""
        return cls((info.thread_id, info.checkpoint_id), info.task_id, call, info, **more)

    @property
    def batch_name(self) -> str:
        """The step, for the world's store; empty where there is no thread, so that nothing is resumed."""
        thread, checkpoint = self.step
        return digest(thread, checkpoint) if thread is not None else ""

    @property
    def talk_name(self) -> str:
        """The conversation, for the world's store; empty where it has no name."""
        thread = self.step[0]
        return digest("talk", thread, self.talk) if thread is not None and self.talk else ""

    @property
    def key(self) -> str:
        """The call of the task, for the world's store."""
        return digest(self.task, self.call)


def digest(*names: str) -> str:
    """A name for the world's store."""
    text = "\0".join(names).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16).hexdigest()


def delta_reader(runtime: ToolRuntime[Any, Any] | None) -> OnDelta | None:
    """Who reads along while the current call is answered: `stream_mode="tools"`."""
    try:
        from langgraph.pregel._tools import _tool_call_writer  # pyright: ignore[reportMissingTypeStubs, reportPrivateUsage]  an event is only worth making where somebody listens
    except ImportError:
        return runtime and runtime.emit_output_delta
    return _tool_call_writer.get()


def call_site_of(runtime: ToolRuntime[Any, Any], key: str) -> CallSite | None:
    """The place of a call that a tool node makes; `None` outside of a graph."""
    info = runtime.execution_info
    if info is None:
        return None
    call = runtime.tool_call_id or ""
    messages = messages_in(runtime.state, key)
    before, known = _earlier_calls(call, messages)
    graph = next(iter(parent_graphs(runtime.config)), None) or ParentGraph({}, None, None)
    is_sent = sent_call(getattr(graph.task, "input", None)) is not None
    siblings: dict[str, AnyFuture] = {}
    nodes: list[AnyFuture] = []
    for future, task in graph.earlier_tasks():
        sibling = sent_call(task.input)
        if sibling is not None:
            siblings[sibling] = future
        elif not is_sent and _is_tool_node(task):
            nodes.append(future)
    return CallSite.of(
        info,
        call,
        step_attempt=info if graph.task is not None and not is_sent else graph.futures,
        earlier=before,
        tasks=siblings if is_sent else None,
        known=known,
        resumed=bool(graph.configurable.get(RESUMING_KEY)),
        talk=_conversation(graph, key, messages),
        before=tuple(nodes),
        written=partial(_stored_marks, graph) if is_sent else None,
    )


def site_in_task(tool: str, call: str) -> CallSite | None:
    """The place of a call that a `@task` of the functional API makes; `None` anywhere else. Parallel tasks are
    answered in the order in which they were started."""
    graph = next(iter(parent_graphs()), None)
    if graph is None or graph.info is None or not _is_called(graph.task):
        return None
    own, tasks = graph.task, dict[str, AnyFuture]()
    for future, task in list((graph.futures or {}).items()):
        # Of other tasks nothing shows that they call tools: waiting for them would cost their time.
        if task is own or task is None or future.done() or not _comes_before(task, own):
            continue
        arguments, named = task.input
        if task.name == own.name or any(map(is_call, (*arguments, *named.values()))):
            tasks[task.id] = future
    return CallSite.of(
        graph.info,
        call,
        step_attempt=graph.futures,
        earlier=tuple((id, tool) for id in tasks),
        tasks=tasks,
    )


def site_in_function(call: str) -> CallSite | None:
    """The place of a call that the function of a node makes itself; `None` outside of a graph."""
    graph = next(iter(parent_graphs()), None)
    info = graph and graph.info
    if graph is None or info is None:
        return None
    # Nodes that run side by side each begin where the step began. An entrypoint is alone, and goes
    # on where its tasks are.
    task = "" if graph.has(PREVIOUS) else f":{info.task_id}"
    return CallSite(
        step=(info.thread_id, f"{info.checkpoint_id}{task}"),
        task=info.task_id,
        call=call,
        attempt=info,
        step_attempt=info,
        resumed=bool(graph.configurable.get(RESUMING_KEY)),
    )


def _earlier_calls(
    call: str, messages: Sequence[object]
) -> tuple[tuple[tuple[str, str], ...], bool]:
    """The calls before `call` in the last message that made it."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            ids = [one["id"] or "" for one in message.tool_calls]
            if ids.count(call) == 1:
                names = [one["name"] for one in message.tool_calls]
                return tuple(zip(ids, names, strict=True))[: ids.index(call)], True
            break
    return (), False


def _conversation(graph: ParentGraph, key: str, messages: Sequence[BaseMessage]) -> str:
    """The id of the first message, if it is the graph's own and not made anew in every run."""
    try:
        first = graph.configurable[READ_KEY](key)[0].id
    except (AttributeError, IndexError, KeyError, TypeError):
        return ""
    return first if messages and isinstance(first, str) and messages[0].id == first else ""


async def _stored_marks(graph: ParentGraph) -> list[Mark]:
    """The marks of the answers that a checkpoint holds of tasks that were done."""
    saver: Any = graph.configurable.get(CHECKPOINTER_KEY)
    if not saver:
        return []
    around: Mapping[str, str] = graph.configurable.get(CHECKPOINTS_KEY) or {}
    own = [name for name, checkpoint in around.items() if checkpoint == graph.info.checkpoint_id]
    found = await read_checkpoint(saver, checkpoint_config(graph.info, own[-1] if own else ""))
    values: list[Any] = [value for _, _, value in (found.pending_writes if found else None) or ()]
    flat = [
        one
        for value in values
        for one in (cast("Any", value) if isinstance(value, list) else [value])
    ]
    return [mark for mark in map(marks_of, flat) if mark is not None]


def _is_tool_node(task: Any) -> bool:
    steps: Any = getattr(task.proc, "steps", (task.proc,))
    return any(isinstance(step, ToolNode) for step in steps)


def _is_called(task: Any) -> bool:
    """Whether a task is one that was called, and not a node."""
    path: object = getattr(task, "path", ())
    return isinstance(path, tuple) and cast("tuple[Any, ...]", path)[-1:] == (True,)


def _comes_before(task: Any, own: Any) -> bool:
    return _is_called(task) and task.path[1] == own.path[1] and task.path[2] < own.path[2]
