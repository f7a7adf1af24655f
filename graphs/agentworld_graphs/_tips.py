"""The last points of parallel branches of a run: what `sim_ref` holds until the next call lets them meet.

Tasks that run in the same step of a graph write the point where each stands. Calls of one message are
answered one after another, so one of their points lies behind all others; workers that were sent out
(`Send`) are branches, and all of their points stay.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, cast

from langgraph.channels import (  # pyright: ignore[reportMissingTypeStubs]  a namespace
    BinaryOperatorAggregate,
)

from agentworld_sim import Turn, WorldRef
from agentworld_sim.types.refs import TIPS, tips_of

KNOWN = 4096
"""How many of the last turns of this process are known here."""

_guard = threading.Lock()
_parents: OrderedDict[WorldRef, tuple[WorldRef, ...]] = OrderedDict()


def note(turn: Turn) -> None:
    """Takes note of what a turn follows. Where a step of a run goes on in another process, less is known:
    then points stay that lie behind others, and the world itself leaves them out."""
    with _guard:
        _parents[turn.ref] = turn.parents
        if len(_parents) > KNOWN:
            _parents.popitem(last=False)


def joined(before: WorldRef, written: Iterable[WorldRef]) -> WorldRef:
    """Where a graph stands after its tasks have written where they stand.

    Args:
        before: Where it stood.
        written: What they wrote, in the order of the tasks.
    """
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


def _last(_: WorldRef, written: WorldRef) -> WorldRef:
    return written


class TipsChannel(BinaryOperatorAggregate[str]):
    """The channel `sim_ref`: what one task writes stands for itself; of several, the tips of all branches
    stay, in the order of the tasks."""

    def __init__(self, typ: Any = str, operator: Any = _last) -> None:
        super().__init__(typ, operator)

    def update(self, values: Sequence[str]) -> bool:
        """Takes over what the tasks of one step wrote."""
        written = [one for one in cast("Sequence[object]", values) if isinstance(one, str)]
        # What is no text says itself that it takes the place of all others.
        if 1 < len(written) == len(values):
            values = [joined(cast("Any", self).value or "", written)]
        return super().update(values)
