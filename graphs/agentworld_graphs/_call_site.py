"""Where in a run of a graph a tool call stands: which step, which task, which calls come before it.

The only file that reads LangGraph's private parts (the keys below). Canary tests pin them; without
them calls are still answered, and parallel ones are ordered as they come.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.prebuilt import ToolNode, ToolRuntime

from agentworld_graphs._thread_refs import Mark, marks_of, messages_in
from agentworld_sim.ports import OnDelta
from agentworld_sim.runtime.sync import in_sync_call

RUNNER_KEY = "__pregel_call"
"""In a task's config: a `partial` whose first argument is a weak reference to the task, and whose
keyword `futures` is one to the mapping of the tasks that run in the same step."""

RESUMING_KEY = "__pregel_resuming"
"""Whether the run goes on from a checkpoint, some of whose tasks may be done."""

CHECKPOINTER_KEY = "__pregel_checkpointer"

READ_KEY = "__pregel_read"
"""A function that reads a channel of the graph."""

CHECKPOINTS_KEY = "checkpoint_map"
"""By namespace: the checkpoint at which each graph around a task stands."""

AnyFuture = concurrent.futures.Future[Any] | asyncio.Future[Any]


@dataclass(frozen=True, slots=True)
class CallSite:
    """One attempt at one call of one message in one step of a run."""

    step: tuple[str | None, str]
    """Thread and checkpoint: the same when a run is resumed, new when it is replayed."""
    task: str
    call: str
    attempt: object
    """An object that lives as long as this attempt at the task."""
    step_attempt: object
    """An object that lives as long as this attempt at the step; `None` when that cannot be told."""
    earlier: tuple[tuple[str, str], ...]
    """Id and tool name of the calls before this one in the message."""
    tasks: Mapping[str, AnyFuture] | None
    """When each call is a task of its own: the tasks of the earlier calls that are not done yet."""
    known: bool
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


def reader_of(runtime: ToolRuntime[Any, Any] | None) -> OnDelta | None:
    """Who reads along while the current call is answered: `stream_mode="tools"`."""
    try:
        from langgraph.pregel._tools import _tool_call_writer  # pyright: ignore[reportMissingTypeStubs, reportPrivateUsage]  an event is only worth making where somebody listens
    except ImportError:
        return runtime and runtime.emit_output_delta
    return _tool_call_writer.get()


def call_site_of(runtime: ToolRuntime[Any, Any], key: str) -> CallSite | None:
    """The place of a call, or `None` outside of a graph."""
    info = runtime.execution_info
    if info is None:
        return None
    call = runtime.tool_call_id or ""
    messages = messages_in(runtime.state, key)
    before, known = _earlier_calls(call, messages)
    own, siblings, running, nodes = _running_tasks(runtime)
    tasks: Mapping[str, AnyFuture] | None = None
    if own is not None and _is_sent(own.input):
        tasks, nodes = siblings, []
    return CallSite(
        step=(info.thread_id, info.checkpoint_id),
        task=info.task_id,
        call=call,
        attempt=info,
        step_attempt=info if own is not None and tasks is None else running,
        earlier=before,
        tasks=tasks,
        known=known,
        resumed=_is_resumed(runtime),
        talk=_conversation(runtime, key, messages),
        before=tuple(nodes),
        written=None if tasks is None else partial(_stored_marks, runtime),
    )


def digest(*names: str) -> str:
    """A name for the world's store."""
    text = "\0".join(names).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16).hexdigest()


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


def _running_tasks(
    runtime: ToolRuntime[Any, Any],
) -> tuple[Any, dict[str, AnyFuture], object, list[AnyFuture]]:
    """This call's task, the unfinished tasks of other calls submitted before it, their mapping, and the
    unfinished tasks of tool nodes that were given whole messages."""
    runner: Any = runtime.config.get("configurable", {}).get(RUNNER_KEY)
    try:
        own, futures = runner.args[0](), runner.keywords["futures"]()
        entries = list(futures.items())
    except (AttributeError, IndexError, KeyError, TypeError):
        return None, {}, None, []
    nodes: list[AnyFuture] = []
    found: dict[str, AnyFuture] = {}
    for future, task in cast("list[tuple[AnyFuture, Any]]", entries):
        # Tasks are submitted in the order of the calls. Waiting only for those submitted earlier
        # cannot block a pool of few threads.
        if task is own:
            break
        if task is not None and not future.done():
            call = sent_call(task.input)
            if call is not None:
                found[call] = future
            elif _is_tool_node(task):
                nodes.append(future)
    return own, found, futures, nodes


def _conversation(runtime: ToolRuntime[Any, Any], key: str, messages: Sequence[BaseMessage]) -> str:
    """The id of the first message, if it is the graph's own and not made anew in every run."""
    try:
        held: Any = runtime.config.get("configurable", {})[READ_KEY](key)
        first = held[0].id
    except (AttributeError, IndexError, KeyError, TypeError):
        return ""
    return first if messages and isinstance(first, str) and messages[0].id == first else ""


def _is_resumed(runtime: ToolRuntime[Any, Any]) -> bool:
    return bool(runtime.config.get("configurable", {}).get(RESUMING_KEY))


async def _stored_marks(runtime: ToolRuntime[Any, Any]) -> list[Mark]:
    """The marks of the answers that a checkpoint holds of tasks that were done."""
    info, configurable = runtime.execution_info, runtime.config.get("configurable", {})
    assert info is not None
    around: Mapping[str, str] = configurable.get(CHECKPOINTS_KEY) or {}
    own = [
        namespace for namespace, checkpoint in around.items() if checkpoint == info.checkpoint_id
    ]
    config: Any = {
        "configurable": {
            "thread_id": info.thread_id,
            "checkpoint_ns": own[-1] if own else "",
            "checkpoint_id": info.checkpoint_id,
        }
    }
    saver: Any = configurable.get(CHECKPOINTER_KEY)
    if not saver:
        return []
    try:
        if in_sync_call():
            raise NotImplementedError
        found = await saver.aget_tuple(config)
    except NotImplementedError:
        found = await asyncio.to_thread(saver.get_tuple, config)
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


def _is_sent(given: object) -> bool:
    return sent_call(given) is not None


def sent_call(given: object) -> str | None:
    """The id of the call a task was sent for; `None` when it was given a whole state."""
    if isinstance(given, Mapping):
        inner: object = cast("Mapping[str, object]", given).get("tool_call")
    elif isinstance(given, list) and len(cast("list[object]", given)) == 1:
        inner = cast("list[object]", given)[0]
    else:
        return None
    if not isinstance(inner, Mapping):
        return None
    call = cast("Mapping[str, Any]", inner)
    return str(call.get("id") or "") if "name" in call and "args" in call else None
