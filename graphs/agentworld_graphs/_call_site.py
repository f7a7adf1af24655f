"""Where in a run of a graph a tool call stands: in which graphs, in which step and task, behind which calls; and
where the world's ref is read from and written to.

Like deepagents' own `StateBackend` this reads and writes a graph's state through functions that LangGraph puts
into the config of every task. Canary tests pin the names below; without them calls are still answered, and
parallel ones are ordered as they come.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableSequence,
    Sequence,
)
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self, TypeGuard, cast

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.config import get_config
from langgraph.prebuilt import ToolNode, ToolRuntime

from agentworld_graphs._thread_refs import (
    CHANNEL,
    HIDDEN_CHANNEL,
    Mark,
    join_tips,
    marks_of,
    messages_in,
    ref_in,
)
from agentworld_sim import WorldRef
from agentworld_sim.ports import OnDelta
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
