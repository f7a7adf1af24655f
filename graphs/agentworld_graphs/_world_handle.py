"""One world as the tools of graphs use it, and which world that is."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from weakref import WeakKeyDictionary, ref

from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolRuntime

from agentworld_graphs._call_order import (
    Attempt,
    CallAnswer,
    CallBatch,
    CallSequence,
)
from agentworld_graphs._call_site import (
    CallSite,
    call_site_of,
    parent_graphs,
    ref_of_node,
    write_ref,
)
from agentworld_graphs._thread_refs import remember_parents
from agentworld_sim import (
    Access,
    AccessRefused,
    ArgumentsError,
    Scenario,
    ToolCall,
    ToolSpec,
    Turn,
    UsageError,
    World,
    WorldRef,
    WorldStore,
)
from agentworld_sim.controls import Control
from agentworld_sim.ports import OnDelta
from agentworld_sim.runtime.sync import TurnLock, run_sync
from agentworld_sim.supports_world import HoldsWorld, world_in
from agentworld_sim.types.refs import tips_of

if TYPE_CHECKING:
    from agentworld_sim.imagination import WorldModel

Base = Callable[[], WorldRef | None]

GUESSED = ("model/", "table/")
"""Beginnings of the bindings of tools that are not well-known."""

BATCHES = 512
"""How many batches a world remembers: those that a person may still have to answer for."""

ToolAccess = Literal["simulate", "refuse"]


class WorldHandle:
    """What all simulated tools of one world share. It lives as long as the world."""

    def __init__(self, world: World) -> None:
        # Weak, or the registry below would keep every world alive. The tools hold it.
        self._world = ref(world)
        self._specs: dict[str, ToolSpec] = {}
        self.backend_lock = TurnLock()
        """Held by a call of a deepagents backend."""
        self._guard = threading.Lock()
        self._batches: OrderedDict[tuple[str | None, str], CallBatch] = OrderedDict()
        world.on_turn(remember_parents)

    @property
    def world(self) -> World:
        """The world; only for those that keep it alive."""
        world = self._world()
        assert world is not None
        return world

    def bind(self, spec: ToolSpec, *, well_known: bool = False) -> ToolSpec:
        """Adds a tool to the world.

        Raises:
            AccessRefused: it binds to nothing, or the scenario's access rules refuse it.
            UsageError: `binds_to` names nothing, or the world has another tool of that name already.
        """
        here = self._specs.get(spec.name)
        known = here and (here.input_schema, here.binds_to)
        if known not in (None, (spec.input_schema, spec.binds_to)):
            raise UsageError(
                f"the world {self.world.id!r} already answers a tool {spec.name!r} with another"
                " schema or binding. Give one of the two another name, or give it a world of its"
                " own (`world.fork()`)."
            )
        before = self.world.tools.get(spec.name)
        if before and before.access == "simulate" and _fits(before, spec):
            bound = before
        else:
            bound = self.world.add_tools([spec])[0]
        guessed = well_known and (bound.binds_to or "").startswith(GUESSED)
        if bound.access == "simulate" and not guessed:
            self._specs[spec.name] = spec
            return bound
        reason = (
            f"{spec.name!r} is no well-known tool."
            if guessed
            else f"the scenario says 'real' for {spec.name!r}. Real tools are allowed by name where they"
            f" are given to the graph: access={{{spec.name!r}: 'real'}}."
            if bound.access == "real"
            else self.world.refusal(spec.name)
        )
        if before is not None:
            self.world.add_tools([before])
        raise AccessRefused(reason)

    def offer(self, specs: Iterable[ToolSpec]) -> None:
        """Adds those tools to the world, all at once, that it does not answer yet. Each is still to be
        bound."""
        known = self.world.tools
        new = {
            spec.name: spec
            for spec in specs
            if spec.name not in known or known[spec.name].access == "refuse"
        }
        self.world.add_tools(new.values())

    def enter_node(
        self, runtime: ToolRuntime[Any, Any], key: str, start: WorldRef
    ) -> EnclosingCall | None:
        """The call that a tool node makes with `runtime`; `None` outside of a graph. The graph's state has its
        messages in `key`; threads begin at `start`."""
        within = _within.get()
        if within is not None and within.handle is self:
            same = within.site.attempt is runtime.execution_info
            if same and within.site.call == (runtime.tool_call_id or ""):
                return within
        site = call_site_of(runtime, key)
        if site is None:
            return None
        return self.enter(site, lambda: ref_of_node(runtime, world=self.world.id, key=key), start)

    def enter(self, site: CallSite, base: Base, start: WorldRef) -> EnclosingCall:
        """A call with what it belongs to. `base` reads in the graph's state where the thread stands (`None` at
        its beginning); threads begin at `start`."""
        outer = self.calls_around(site)
        with self._guard:
            batch = self._batches.get(site.step)
            if batch is None:
                ref = None if outer else base()
                chain = (
                    outer[0].chain if outer else CallSequence(ref or start, site, first=ref is None)
                )
                batch = self._batches[site.step] = CallBatch(chain)
                if len(self._batches) > BATCHES:
                    self._batches.popitem(last=False)
            else:
                self._batches.move_to_end(site.step)
            attempt = batch.attempt_of(site.step_attempt)
        return EnclosingCall(self, batch.chain, attempt, site, _within.get(), outer)

    def calls_around(self, site: CallSite) -> tuple[EnclosingCall, ...]:
        """The calls of this world inside of which one is made, from the nearest on."""
        own, found = (site.step, site.task, site.call), list[EnclosingCall]()
        within = _within.get()
        while within is not None:
            outer = within.site
            if within.handle is self and (outer.step, outer.task, outer.call) != own:
                found.append(within)
            within = within.around
        return tuple(found)

    async def answer(
        self, call: ToolCall, entered: EnclosingCall | None, *, on_delta: OnDelta | None = None
    ) -> CallAnswer:
        """Answers a call where its thread stands; outside of a graph, where the world stands."""
        if entered is None:
            return await self._of(await self.world.step(call, on_delta=on_delta))
        attempt, site = entered.attempt, entered.site
        attempt.arrived.add(site.call)
        try:
            answered = await self._answer_in(entered, call, on_delta)
        except (ArgumentsError, GraphBubbleUp):
            raise
        except Exception as error:
            attempt.failed[site.call] = error
            for outer in entered.outer:
                # Whatever is around may make a message of it, and the run would go on.
                outer.attempt.failed[outer.site.call] = error
            raise
        else:
            attempt.failed.pop(site.call, None)
            attempt.refs[site.call] = answered.mark["ref"]
            for outer in entered.outer:
                outer.attempt.refs[outer.site.call] = answered.mark["ref"]
                outer.attempt.within.setdefault(outer.site.call, answered)
            return answered
        finally:
            if not attempt.supervised:
                attempt.end(site.call)

    async def _answer_in(
        self,
        entered: EnclosingCall,
        call: ToolCall,
        on_delta: OnDelta | None,
    ) -> CallAnswer:
        chain, site = entered.chain, entered.site
        if not chain.recalled:
            # An agent that is a tool begins a run of its own, also where the one around it is resumed.
            resumed = site.resumed or any(outer.site.resumed for outer in entered.outer)
            await self._recall(chain, site, resumed)
        key = site.key
        record = chain.record(key) if site.known else None
        known = record and record.next(call, site.attempt)
        if known is not None:
            return known
        for one in (*reversed(entered.outer), entered):
            await one.attempt.wait_for_earlier(one.site, self._specs)
        async with chain.lock:
            await self._merge_tips(chain)
            origin = None if record is None else chain.origin(key, record.asked)
            turn = await self.world.step(call, at=chain.tip, origin=origin, on_delta=on_delta)
            chain.advance(turn)
            answered = await self._of(turn)
            if record is not None:
                record.add(answered)
            return answered

    async def _merge_tips(self, chain: CallSequence) -> None:
        """Lets the branches meet that a chain goes on from; to be called with its lock."""
        tips = tips_of(chain.tip)
        if len(tips) > 1:
            chain.tip = await self.world.merge(tips)

    async def _recall(self, chain: CallSequence, site: CallSite, resumed: bool) -> None:
        async with chain.lock:
            if chain.recalled:
                return
            await self._merge_tips(chain)
            asked = await self.world.batch_turns(chain.name) if chain.may_be_known(resumed) else []
            if not asked and resumed and site.written is not None:
                # A thread that was copied brings the answers along, but not who asked for them.
                chain.follow(one for one in await site.written() if one["world"] == self.world.id)
            # No call changes the seed.
            seed = (await self.world.state(asked[-1][1].ref)).seed if asked else 0
            chain.recall(asked, self.world.id, seed)

    async def _of(self, turn: Turn) -> CallAnswer:
        return CallAnswer.of(turn, self.world.id, (await self.world.state(turn.ref)).seed)


@dataclass(frozen=True, slots=True)
class EnclosingCall:
    """A call that is under way, and may ask the world itself."""

    handle: WorldHandle
    chain: CallSequence
    attempt: Attempt
    site: CallSite
    around: EnclosingCall | None
    """The call inside of which it is made, of whatever world."""
    outer: tuple[EnclosingCall, ...]
    """All those of the same world, from the nearest on."""

    def running(self) -> AbstractContextManager[None]:
        """What is called from here on is called inside of this call: by an agent that is a tool."""
        return during(_within, self)

    def write_ref(self, config: Mapping[str, Any] | None = None) -> None:
        """Writes where the world stands now into the state of the graph that `config` is of."""
        graphs = parent_graphs(config)
        # A copy learns of a call inside of another when that one is through.
        write_ref(self.chain, graphs[:1], () if self.outer else graphs)


@contextmanager
def during(variable: ContextVar[Any], value: object) -> Generator[None]:
    """Sets a context variable while it lasts."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


_within: ContextVar[EnclosingCall | None] = ContextVar("agentworld_within", default=None)


_handles: WeakKeyDictionary[World, WorldHandle] = WeakKeyDictionary()
_guard = threading.Lock()


def handle_of(given: World | HoldsWorld) -> WorldHandle:
    world = world_in(given)
    with _guard:
        handle = _handles.get(world)
        if handle is None:
            handle = _handles[world] = WorldHandle(world)
        return handle


class WorldOptions(TypedDict, total=False):
    """Which world answers, besides `world=` itself: the same for every adapter."""

    scenario: Scenario | None
    """What is in a fresh one; an empty machine by default."""
    store: WorldStore | None
    """Where the world lives whose id is given."""
    model: WorldModel | str | None
    """The language world model that imagines what cannot be computed, or its URL, for a world that is
    made or opened here; what AGENTWORLD_MODEL_URL names by default."""
    controls: Sequence[Control]
    """Perturbations of a world that is made or opened here, around those that the scenario declares."""
    answers: Mapping[str, object] | None
    """Stubs, by tool name: a text, a JSON value, a function of the call's arguments (may be async) that
    gives one of these, or an exception. They go before all other answers, as with `World.answer`."""


class ToolOptions(WorldOptions, total=False):
    """What adapters of several tools take."""

    access: Mapping[str, Access] | None
    """By exact tool name: `real` lets the real tool run, `refuse` fails the run when the agent calls it. All
    others are simulated."""
    binds_to: Mapping[str, str] | None
    """By tool name: what it is, for example `{"sh": "claude-code/Bash"}`."""


def world_of(
    world: World | HoldsWorld | str | None,
    *,
    scenario: Scenario | None = None,
    store: WorldStore | None = None,
    model: WorldModel | str | None = None,
    controls: Sequence[Control] = (),
    answers: Mapping[str, object] | None = None,
) -> World:
    """The world that is meant.

    Args:
        world: The world, or what holds one: a simulated tool, a tool node, a pytest fixture; or the id
            of one in `store`; or `None` for a fresh one.

    The other arguments are those of `WorldOptions`.

    Raises:
        UsageError: an id without a store, a store without an id, what only a new world takes for one that
            is there, or an answer for no tool.
    """
    if world is not None and scenario is not None:
        raise UsageError("scenario=… goes with a world that is made here: leave out world=….")
    if isinstance(world, str):
        if store is None:
            raise UsageError(f"world={world!r} is an id: say in which store it is (store=…).")
        opening = World.open(world, store=store, model=model, controls=controls, answers=answers)
        return run_sync(opening)
    if store is not None:
        raise UsageError("store=… goes with a world's id (world='…').")
    if world is None:
        return World.create_sync(scenario, model=model, controls=controls, answers=answers)
    for option, value in (("model", model), ("controls", controls)):
        if value:
            raise UsageError(
                f"{option}=… goes with a world that is made or opened here. Give it to World.create."
            )
    found = world_in(world)
    for name, value in (answers or {}).items():
        found.answer(name, value)
    return found


def _fits(bound: ToolSpec, spec: ToolSpec) -> bool:
    """Whether a tool of the world is the one that is to be bound."""
    same = (bound.description, bound.input_schema) == (spec.description, spec.input_schema)
    return same and spec.binds_to in (None, bound.binds_to)
