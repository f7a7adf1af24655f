"""The graphs around a call that gets no runtime: the one whose node runs, and those outside of it.

Like deepagents' own `StateBackend`, what stands here reads and writes a graph's state through functions
that LangGraph puts into the config of every task. The names below are LangGraph's private parts; a
canary test pins them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from langgraph.config import get_config

from agentworld_graphs._place import CHECKPOINTER_KEY, READ_KEY, RUNNER_KEY, AnyFuture
from agentworld_graphs._refs import CHANNEL, HIDDEN_CHANNEL, ref_in
from agentworld_graphs._tips import joined

SEND_KEY = "__pregel_send"
"""Writes channels: a list of pairs."""

RUNTIME_KEY = "__pregel_runtime"

LOOP_ARGUMENT = "schedule_task"
"""The runner's keyword with a method of the loop that runs the graph. The loop's config is that of the
task around it, when the graph is a subgraph."""


@dataclass(frozen=True, slots=True)
class Level:
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
        return _sent_call(getattr(self.task, "input", None)) or ""

    @property
    def earlier_calls(self) -> Iterator[AnyFuture]:
        """The unfinished tool calls of the same message that come before this one."""
        for future, task in self.siblings:
            if not future.done() and _sent_call(task.input) is not None:
                yield future


def levels() -> list[Level]:
    """The graphs around this call, the innermost first; none outside of a graph."""
    try:
        return _levels(get_config())
    except RuntimeError:
        return []


def has_channel(config: Mapping[str, Any]) -> bool:
    """Whether the graph that `config` is of has the channel `sim_ref`."""
    level = next(iter(_levels(config)), None)
    return level is not None and level.has_channel


def write_ref(config: Mapping[str, Any], ref: str) -> None:
    """Writes `sim_ref` into the state of the graph that `config` is of, if it has the channel."""
    level = next(iter(_levels(config)), None)
    if level is not None and level.has_channel:
        level.send(ref)


def keeps_hidden_ref() -> bool:
    """Whether this is called inside of a copy that `simulate_graph` made."""
    return _copy_among(levels()) is not None


def ref_of_copy(config: Mapping[str, Any], *, fresh: bool = True) -> str | None:
    """Where the copy of a graph stands (`simulate_graph`) that a function of `config`'s graph is in; `None`
    where there is none, or nothing was done in it yet.

    Args:
        config: The config of a task.
        fresh: With what this task has written; otherwise as it was before the step.
    """
    level = _copy_among(_levels(config))
    return None if level is None else level.configurable[READ_KEY](HIDDEN_CHANNEL, fresh) or None


def ref_around(config: Mapping[str, Any], *, world: str, key: str) -> str | None:
    """Where the graph of `config` stands, or those inside of which it runs, the nearest first: a worker that
    was given a state of its own begins where the graph stands that sent it out.

    Args:
        config: Of a task.
        world: The id of the world.
        key: Where states have their messages.

    Returns:
        The point; `None` where nothing was done in any of them yet.
    """
    for level in _levels(config):
        state: dict[str, Any] = {}
        for channel in (HIDDEN_CHANNEL, CHANNEL, key):
            with suppress(KeyError):
                state[channel] = level.configurable[READ_KEY](channel, True)
        ref = state.get(HIDDEN_CHANNEL) or ref_in(state, world=world, key=key)
        if ref:
            return ref
    return None


def write_ref_around(config: Mapping[str, Any], ref: str, *, own: bool = False) -> None:
    """Tells the copy of a graph around `config`'s graph, if there is one, where it stands now.

    Args:
        config: The config of a task.
        ref: The point.
        own: Whether `config`'s graph may be that copy: a function of its own asks.
    """
    level = _copy_among(_levels(config)[not own :])
    if level is not None:
        before = level.configurable[READ_KEY](HIDDEN_CHANNEL, False)
        written = level.configurable[READ_KEY](HIDDEN_CHANNEL, True)
        # A function may call several agents at once: each of them is a branch.
        level.send(joined(before, (written, ref)), HIDDEN_CHANNEL)


def _copy_among(found: Iterable[Level]) -> Level | None:
    for level in found:
        with suppress(KeyError):
            level.configurable[READ_KEY](HIDDEN_CHANNEL, False)
            return level
    return None


def _levels(config: Mapping[str, Any]) -> list[Level]:
    found: list[Level] = []
    while True:
        configurable: Mapping[str, Any] = config.get("configurable") or {}
        if READ_KEY not in configurable or SEND_KEY not in configurable:
            return found
        runner: Any = configurable.get(RUNNER_KEY)
        try:
            task, futures = runner.args[0](), runner.keywords["futures"]()
            around = runner.keywords[LOOP_ARGUMENT].__self__.config
        except (AttributeError, IndexError, KeyError, TypeError):
            return [*found, Level(configurable, None, ())]
        found.append(Level(configurable, task, _before(task, futures)))
        config = around


def keeps_checkpoints(found: Iterable[Level]) -> bool:
    """Whether the run can be gone back in."""
    return any(level.configurable.get(CHECKPOINTER_KEY) for level in found)


async def wait_for(futures: Iterable[AnyFuture]) -> None:
    """Waits until futures of any kind and any loop are through, whatever comes of them."""
    loop = asyncio.get_running_loop()
    for future in futures:
        woken: asyncio.Future[None] = loop.create_future()
        future.add_done_callback(_waking(loop, woken))
        if not future.done():
            await woken


def _waking(loop: asyncio.AbstractEventLoop, woken: asyncio.Future[None]) -> Callable[[Any], None]:
    def wake() -> None:
        if not woken.done():
            woken.set_result(None)

    def tell(_: Any) -> None:
        # The loop may be closed by then, when whoever waited was cancelled.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(wake)

    return tell


def _before(
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


def _sent_call(given: object) -> str | None:
    """The id of the call a task was sent for; `None` when it was given a whole state."""
    if isinstance(given, list) and len(cast("list[object]", given)) == 1:
        given = cast("list[object]", given)[0]
    elif isinstance(given, Mapping):
        given = cast("Mapping[str, object]", given).get("tool_call")
    if not isinstance(given, Mapping):
        return None
    call = cast("Mapping[str, Any]", given)
    return str(call.get("id") or "") if "name" in call and "args" in call else None
