"""Where a thread of a graph stands in its world: a ref that travels through the graph's state.

Checkpoints keep it, so going back in time and forking a thread go back and fork in the world. It is in
two places. A graph whose state has the channel `sim_ref` (`SimState`) carries it there. Every
`ToolMessage` of a simulated tool carries it as well, in `additional_kwargs["agentworld"]`, which
models are not shown: that is enough for a graph without the channel.

Tasks that run in the same step of a graph write the point where each stands. Calls of one message are
answered one after another, so one of their points lies behind all others; workers that were sent out
(`Send`) are branches, and all of their points stay.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.channels import (  # pyright: ignore[reportMissingTypeStubs]  a namespace
    BinaryOperatorAggregate,
)
from typing_extensions import TypedDict

from agentworld_sim import Provenance, Turn, WorldRef
from agentworld_sim.types.refs import TIPS, tips_of

CHANNEL = "sim_ref"
HIDDEN_CHANNEL = "agentworld_ref"
"""The channel that `simulate_graph` adds to its copy: what agents did that functions of the graph called
leaves no mark in the graph's own state."""
MARK = "agentworld"


class SimState(TypedDict):
    """Mix into a graph's state: `class State(MessagesState, SimState): ...`.

    Like LangGraph's own states it is made with `typing_extensions.TypedDict`; before Python 3.13 it
    does not mix with one made with `typing.TypedDict`.

    A graph begins where the world stood when its tools were made. To begin elsewhere, give `sim_ref`
    in the input.
    """

    sim_ref: NotRequired[Annotated[str, TipsChannel]]
    """The point of the world's history where the thread stands; empty before the first call. After parallel
    branches, until the next call lets them meet: their tips, joined with `+`."""


class Mark(TypedDict):
    """What a `ToolMessage` of a simulated tool carries, for people and for the next call."""

    world: str
    ref: WorldRef
    """The point of history after the call."""
    parent: WorldRef
    """The point before it."""
    provenance: Provenance
    seed: int
    """Of the world's random source."""
    model: NotRequired[str]
    """Which model imagined it, or a part of it."""


def marks_of(message: object) -> Mark | None:
    """The mark of a message; `None` when it is not an answer of a world."""
    if not isinstance(message, ToolMessage):
        return None
    mark: object = message.additional_kwargs.get(MARK)
    return cast("Mark", mark) if isinstance(mark, Mapping) else None


def messages_in(state: object, key: str = "messages") -> Sequence[BaseMessage]:
    """The messages of a graph's state, whatever form the state has."""
    found: object = state
    if isinstance(state, Mapping):
        found = cast("Mapping[str, object]", state).get(key)
    elif not isinstance(state, list):
        found = getattr(state, key, None)
    return cast("Sequence[BaseMessage]", found) if isinstance(found, list) else ()


def _channel_in(state: object) -> str | None:
    if isinstance(state, Mapping):
        return cast("Mapping[str, Any]", state).get(CHANNEL)
    return getattr(state, CHANNEL, None)


def ref_in(state: object, *, world: str | None = None, key: str = "messages") -> WorldRef | None:
    """Where a graph's state stands in a world's history.

    Args:
        state: The state of a graph: a mapping, an object or a list of messages.
        world: The world's id; marks of other worlds are passed over. Any world by default.
        key: Where the state has its messages.

    Returns:
        The ref, or `None` when no simulated tool has answered yet. Give it to `World.state`,
        `World.diff` or `World.fork`. After parallel branches it names the tips of all.
    """
    channel = _channel_in(state)
    messages = messages_in(state, key)
    marks = _last_marks(messages, world)
    if channel and not (marks and marks[-1]["ref"] == channel):
        return channel
    if not marks:
        return None
    # Calls that waited for a person ran after calls with a higher index: follow the chain to its end.
    after = {mark["parent"]: mark["ref"] for mark in marks}
    ref = marks[-1]["ref"]
    for _ in marks:
        ref = after.get(ref, ref)
    return ref if channel else _with_branches(ref, messages, world or marks[-1]["world"])


def _with_branches(ref: WorldRef, messages: Sequence[BaseMessage], world: str | None) -> WorldRef:
    """`ref` and the tips of the branches that parted from it and that messages show."""
    marks = [mark for message in messages if (mark := marks_of(message)) is not None]
    parents = {
        mark["ref"]: mark["parent"] for mark in marks if world is None or mark["world"] == world
    }
    followed = set(parents.values())

    def start(point: WorldRef) -> WorldRef:
        while point in parents:
            point = parents[point]
        return point

    tips = [one for one in parents if one == ref or one not in followed]
    return TIPS.join(one for one in tips if start(one) == start(ref))


def _last_marks(messages: Sequence[BaseMessage], world: str | None) -> list[Mark]:
    """The marks of the last batch of tool messages that has any, oldest first."""
    found: list[Mark] = []
    for message in reversed(messages):
        mark = marks_of(message)
        if mark is not None and (world is None or mark["world"] == world):
            found.append(mark)
        elif found and isinstance(message, AIMessage):
            break
    return found[::-1]


KNOWN = 4096
"""How many of the last turns of this process are known here."""

_guard = threading.Lock()
_parents: OrderedDict[WorldRef, tuple[WorldRef, ...]] = OrderedDict()


def remember_parents(turn: Turn) -> None:
    """Takes note of what a turn follows. Where a step of a run goes on in another process, less is known:
    then points stay that lie behind others, and the world itself leaves them out."""
    with _guard:
        _parents[turn.ref] = turn.parents
        if len(_parents) > KNOWN:
            _parents.popitem(last=False)


def join_tips(before: WorldRef, written: Iterable[WorldRef]) -> WorldRef:
    """Where a graph stands after its tasks have written where they stand."""
    old = set(tips_of(before))
    tips = dict.fromkeys(tip for one in written for tip in tips_of(one) if tip)
    left = [tip for tip in tips if tip not in old] or list(tips)
    if len(left) > 1:
        behind = {one for tip in left for one in _behind(tip, old)}
        left = [tip for tip in left if tip not in behind]
    return TIPS.join(left)


def _behind(tip: WorldRef, old: set[WorldRef]) -> set[WorldRef]:
    """The points before `tip` that are known, back to where the graph stood."""
    found: set[WorldRef] = set()
    with _guard:
        waiting = list(_parents.get(tip, ()))
        while waiting:
            ref = waiting.pop()
            if ref not in found and ref not in old:
                found.add(ref)
                waiting += _parents.get(ref, ())
    return found


class TipsChannel(BinaryOperatorAggregate[str]):
    """The channel `sim_ref`: what one task writes stands for itself; of several, the tips of all branches
    stay, in the order of the tasks."""

    def __init__(self, typ: Any = str, operator: Any = lambda _, written: written) -> None:  # pyright: ignore[reportUnknownLambdaType]
        super().__init__(typ, operator)

    def update(self, values: Sequence[str]) -> bool:
        """Takes over what the tasks of one step wrote."""
        written = [one for one in cast("Sequence[object]", values) if isinstance(one, str)]
        # What is no text says itself that it takes the place of all others.
        if 1 < len(written) == len(values):
            values = [join_tips(cast("Any", self).value or "", written)]
        return super().update(values)
