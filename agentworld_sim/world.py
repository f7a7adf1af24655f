"""`World`: a running simulation of a scenario.

A step is a transaction: the call is checked, answered by an engine, checked again, and then stored
together with all it changed, or not at all. What a failed or cancelled step did to the live engine is
thrown away with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from agentworld_sim.checks import DEFAULT_CHECKS, Check
from agentworld_sim.controls import Control
from agentworld_sim.controls.control_list import ControlList, offered_tools
from agentworld_sim.errors import (
    AccessRefused,
    AgentworldError,
    UsageError,
    nearest,
)
from agentworld_sim.ports import Engine, OnDelta, StepContext, WorldImaginer
from agentworld_sim.ports.stores import NewBlobs, Origin, WorldRecord, WorldStore
from agentworld_sim.runtime.access import Router, access_for, checked_access, rule_for, unknown_tool
from agentworld_sim.runtime.session_cache import LiveSessions, live_worlds
from agentworld_sim.runtime.step import Pipeline
from agentworld_sim.runtime.sync import TurnLock, run_sync
from agentworld_sim.runtime.world_history import (
    COMMIT_TRIES,
    HistoryCache,
    back_off,
    commit_turn,
    head_moved,
    keep_failure,
    off_loop,
    record_of_fork,
    turn_with_controls,
    turn_with_seed,
    world_id_or_new,
)
from agentworld_sim.runtime.world_options import NewWorldOptions
from agentworld_sim.scenario import (
    Scenario,
    declared_controls,
    empty_scenario,
    in_domains,
    read_controls,
    restored_scenario,
    scenario_tools,
)
from agentworld_sim.store.memory_store import MemoryStore
from agentworld_sim.types.exchanges import FailedStep
from agentworld_sim.types.refs import WorldRef, tips_of, turn_seed
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import Access, Route, ToolCall, ToolSpec
from agentworld_sim.types.turns import Trajectory, Turn

if TYPE_CHECKING:
    from agentworld_sim.diff.state_diff import StateDiff


class World:
    """A simulated world.

    Make one with `World.create`, reopen one with `World.open`. All methods are safe to call from
    several tasks and event loops; steps of one world run one after another.
    """

    def __init__(
        self,
        record: WorldRecord,
        scenario: Scenario,
        *,
        store: WorldStore,
        engines: Sequence[Engine],
        model: WorldImaginer | None,
        checks: Sequence[Check],
        controls: Sequence[Control | str],
        access: Mapping[str, Access] | None,
        tools: Mapping[str, tuple[ToolSpec, Engine | None]] | None = None,
    ) -> None:
        """For this module; use `create` or `open`."""
        self.id = record.id
        self.scenario = scenario
        self._access = checked_access(access or {})
        self._store = store
        self._root = record.root
        self._head = record.head
        self._controls = ControlList(controls, declared_controls)
        self.controls = self._controls.local
        """Perturbations of this process, the outermost first."""
        self.model = model
        """The language world model, if there is one."""
        self._router = Router(engines)
        if model is not None:
            model.acquire(self)
        self._checks = tuple(checks)
        self._tools = dict(tools or {})
        self._live = LiveSessions()
        self._history = HistoryCache(store)
        self._lock = TurnLock()
        self._watchers: list[Callable[[Turn], None]] = []
        self._closed = False
        if tools is None:
            self.add_tools(scenario_tools(scenario))

    @classmethod
    async def create(
        cls,
        scenario: Scenario | None = None,
        *,
        id: str | None = None,
        store: WorldStore | None = None,
        seed: int | None = None,
        engines: Sequence[Engine] | None = None,
        model: WorldImaginer | str | Literal[False] | None = None,
        checks: Sequence[Check] = DEFAULT_CHECKS,
        controls: Sequence[Control | str] = (),
        access: Mapping[str, Access] | None = None,
        answers: Mapping[str, object] | None = None,
    ) -> World:
        """A new world.

        Args:
            scenario: What is in it; an empty Debian machine by default.
            id: Its name in the store; 128 random bits by default.
            store: Where it lives; in memory by default.
            seed: Instead of the scenario's.
            engines: What answers; by default the shell engine, and the model behind it.
            model: The language world model that imagines what the shell cannot compute, or the URL
                of its server; by default what AGENTWORLD_MODEL_URL or the scenario names, and
                otherwise none. `False` is none, and none is looked for.
            checks: Rules that every answer must pass.
            controls: Perturbations of this process, or names of profiles, around those of the scenario.
            access: Rules that go before the scenario's: of this process, not of the world's history.
            answers: Stubs, by tool name, as for `answer`; part of the scenario, a function by its name.

        Raises:
            UsageError: the id is taken, an access rule or answer may not stand, or a tool of the scenario cannot be bound as it asks.
            ScenarioError: a file of the scenario cannot be read.
        """
        from agentworld_sim import assembly

        scenario = assembly.with_answers(scenario or empty_scenario(), answers or {})
        if seed is not None:
            scenario = scenario.model_copy(update={"seed": seed})
        scenario = await asyncio.to_thread(assembly.with_packages, scenario)
        engines, model = await assembly.engines_and_model(scenario, engines, model, answers)
        store, world_id = store or MemoryStore(), world_id_or_new(id)
        made = await asyncio.to_thread(assembly.new_world, world_id, scenario, store)
        record, state, blobs = made
        world = cls(
            record,
            scenario,
            store=store,
            engines=engines,
            model=model,
            checks=checks,
            controls=controls,
            access=access,
        )
        # Stored when its tools are bound: a world that cannot be made leaves its id free.
        await asyncio.to_thread(store.create, record, state, blobs.new)
        world._history.keep(record.root, state)
        return world

    @classmethod
    def create_sync(
        cls, scenario: Scenario | None = None, **options: Unpack[NewWorldOptions]
    ) -> World:
        """`create`, with the same options, for code that is not asynchronous."""
        return run_sync(cls.create(scenario, **options))

    @classmethod
    async def open(
        cls,
        id: str,
        *,
        store: WorldStore,
        at: WorldRef | None = None,
        engines: Sequence[Engine] | None = None,
        model: WorldImaginer | str | Literal[False] | None = None,
        checks: Sequence[Check] = DEFAULT_CHECKS,
        controls: Sequence[Control | str] = (),
        access: Mapping[str, Access] | None = None,
        answers: Mapping[str, object] | None = None,
    ) -> World:
        """The world `id` of `store`, as any process left it.

        Args:
            at: A point of its history to stand at; its head by default.
            answers: As for `create`, beside the scenario's; functions must be given again.

        The other arguments are those of `create`.

        Raises:
            UnknownWorldError: no such world, or no such point.
        """
        from agentworld_sim import assembly

        record = await off_loop(store, lambda: store.world(id))
        scenario = restored_scenario(record.scenario)
        engines, model = await assembly.engines_and_model(scenario, engines, model, answers)
        world = cls(
            record,
            scenario,
            store=store,
            engines=engines,
            model=model,
            checks=checks,
            controls=controls,
            access=access,
        )
        if at is not None:
            world._head = await world._point(at)
            await world.state()
        return world

    @property
    def ref(self) -> WorldRef:
        """The point where this world stands."""
        return self._head

    @property
    def root(self) -> WorldRef:
        """The first point of its history."""
        return self._root

    @property
    def store(self) -> WorldStore:
        """Where it lives."""
        return self._store

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """The tools as bound, by name. One whose access is `refuse` is never answered. See `listing`, too."""
        return {name: tool for name, (tool, _) in self._tools.items()}

    async def listing(self, at: WorldRef | None = None) -> Mapping[str, ToolSpec]:
        """The tools that an agent is offered at a point, here by default; controls may change them."""
        state = await self.state(at)
        return offered_tools(self._controls.at(state), self.tools, state)

    def add_tools(self, tools: Iterable[ToolSpec]) -> list[ToolSpec]:
        """Adds tools and binds them; gives them back as bound, in order.

        A tool that binds to nothing is kept with access `refuse`. The scenario's rules and domains apply.
        """
        asked: list[tuple[ToolSpec, Route | None]] = []
        for tool in in_domains(tools, self.scenario):
            tool = replace(tool, access=self._rule(tool) or tool.access)
            asked.append((tool, rule_for(tool.name, self.scenario.routes.tools)))
        new = {tool.name for tool, _ in asked}
        beside = [tool for name, (tool, _) in self._tools.items() if name not in new]
        bound = self._router.bind_all(asked, beside)
        self._tools.update((spec.name, (spec, engine)) for spec, engine in bound)
        return [spec for spec, _ in bound]

    def answer(self, name: str, value: object) -> None:
        """Answers further calls of the tool `name` with a stub, in this object and its later forks: a text, a
        JSON value, a function of the call's arguments (may be async) that gives one of these, or an exception,
        with whose text the tool fails. The tool may be added later.

        Raises:
            UsageError: it is none of these, or the name misspells a tool's.
            AccessRefused: access rules say that the world does not answer the tool.
        """
        tool = self._tools[name][0] if name in self._tools else None
        if tool is not None and (tool.access == "real" or self._rule(tool) == "refuse"):
            raise AccessRefused(self.refusal(name))
        self._router, self._tools = self._router.with_answers({name: value}, self._tools)
        self._live.discard()

    def refusal(self, name: str, *, brief: bool = False) -> str:
        """Why the tool `name` is refused, with what to do about it for people, or `brief` for agents."""
        tool = self._find(name)[0]
        if self._rule(tool) == "refuse":
            whose = "" if access_for(tool, self._access) else "scenario's "
            return f"{name!r} is refused: the {whose}access rules say so."
        if tool.access == "real":
            return f"{name!r} is set to 'real': the adapter that holds it calls it, the world does not."
        route = rule_for(name, self.scenario.routes.tools)
        why = "" if brief else f" {self._router.refusal(tool, route)}"
        return f"{name!r} is refused, because it binds to nothing.{why}"

    async def state(self, at: WorldRef | None = None) -> WorldState:
        """The content of the world at a point; at its own by default."""
        return await self._history.state(await self._point(at))

    async def read_file(self, path: str, *, at: WorldRef | None = None) -> bytes:
        """The bytes of one file. Raises `UsageError` where there is none at that point."""
        state = await self.state(at)
        entry = state.files.get(path)
        if entry is None or entry.kind != "file":
            raise UsageError(f"no file {path!r} in this world.{nearest(path, state.files)}")
        return await off_loop(self._store, lambda: self._store.blobs.get(entry.content))

    async def trajectory(self, at: WorldRef | None = None) -> Trajectory:
        """The calls from the root to a point; the branches of a merge stand one after another."""
        return Trajectory(await self._history.calls(await self._point(at)))

    async def merges(self, at: WorldRef | None = None) -> list[Turn]:
        """The turns before a point in which branches met, oldest first, with their conflicts."""
        return [turn for turn in await self._history.lineage(await self._point(at)) if turn.merged]

    async def batch_turns(self, batch: str) -> list[tuple[str, Turn]]:
        """The turns of one batch of an `Origin`: its `call` and the turn, oldest first."""
        return await off_loop(self._store, lambda: self._store.batch_turns(self.id, batch))

    async def failures(self) -> list[FailedStep]:
        """The steps for which a model was asked and that gave no turn, oldest first."""
        return await off_loop(self._store, lambda: self._store.failures(self.id))

    async def diff(self, since: WorldRef | None = None, *, at: WorldRef | None = None) -> StateDiff:
        """What differs between two points, `since` (the root) and `at` (here): files, records, values."""
        from agentworld_sim.world_records import state_diff

        before, after = await self.state(since or self._root), await self.state(at)
        return state_diff(before, after, scenario=self.scenario, tools=self.tools.values())

    async def patch(
        self, since: WorldRef | None = None, *, at: WorldRef | None = None, below: str = "/"
    ) -> str:
        """The files that differ as a patch in git's format, with paths relative to `below`."""
        from agentworld_sim.diff.patch import patch_text

        files = (await self.state(since or self._root)).files, (await self.state(at)).files
        blobs = self._store.blobs
        return await off_loop(self._store, lambda: patch_text(*files, blobs, root=below))

    def on_turn(self, tell: Callable[[Turn], None]) -> None:
        """Calls `tell` with every turn that answers a call and that this object commits from now on, in the
        order of the commits. Merges and forks are not watched."""
        self._watchers.append(tell)

    async def step(
        self,
        call: ToolCall,
        *,
        at: WorldRef | None = None,
        origin: Origin | None = None,
        on_delta: OnDelta | None = None,
    ) -> Turn:
        """Answers one call, moves the world on, and gives the turn.

        Args:
            at: Answer at this point of history instead of where the world stands. If the world
                stands there, it moves; if not, the turn is a branch, named by the turn's ref.
            origin: Who asks, for `batch_turns`; kept with the turn, and no part of it.
            on_delta: Is given the text of an imagined observation piece by piece while a model
                writes it. Provisional: only the turn says what was answered.

        Raises:
            UnknownToolError: the world has no such tool.
            AccessRefused: the tool may not be answered.
            ArgumentsError: the arguments do not fit its schema.
            WorldFailure: no answer. The world is as it was.
        """
        at = at and await self._point(at)
        attempt = partial(self._try_step, call, at, origin, on_delta)
        turn = await self._until_stored(f"{call.name!r} was being answered", attempt)
        live_worlds.touch(self)
        return turn

    async def switch_controls(
        self, *, add: Iterable[Mapping[str, Any] | str] = (), remove: Iterable[str] = ()
    ) -> WorldRef:
        """Switches declared controls on, written as in a scenario's `controls`, and off, by their names: a turn
        of the history that answers no call, so that forks and earlier points have it or not. A call that
        is asked at the point where the world stood is answered after it. Gives the point after it.

        Raises:
            UsageError: a control cannot be read, two have one name, or there is none to switch off.
        """
        added = read_controls(add)
        removed = [remove] if isinstance(remove, str) else list(remove)

        async def switch() -> Turn | None:
            before = await self._history.state(self._head)
            turn = turn_with_controls(self._head, before, self._controls, added, removed)
            return await self._commit(turn, before.after(turn.change), moves=True)

        return (await self._until_stored("its controls were being switched", switch)).ref

    async def merge(self, tips: Sequence[WorldRef]) -> WorldRef:
        """Lets branches meet in one turn; gives the point after it, or the one tip that all others lead to.
        A world that stands at one of the tips moves on. `at` of all methods may name tips joined with `+`.

        Args:
            tips: The last point of each branch. Of two that changed the same in different ways the later
                one stays, and the turn says what was lost (`Turn.conflicts`).

        Raises:
            UsageError: they are of different worlds.
        """
        from agentworld_sim.runtime.merge import merge_of

        async with self._lock:
            self._require_open()
            head = (await off_loop(self._store, lambda: self._store.world(self.id))).head
            tips = [await self._history.after_switches(tip, head) for tip in tips]
            made = await off_loop(self._store, lambda: merge_of(self._store, tips))
            if isinstance(made, str):
                return made
            await self._commit(*made)
            return made[0].ref

    async def fork(
        self,
        *,
        seed: int | None = None,
        at: WorldRef | None = None,
        id: str | None = None,
        controls: Sequence[Control | str] | None = None,
    ) -> World:
        """A world of its own that begins where this one stands. Nothing is copied; it never expires.

        Args:
            seed: A new seed of the random source; inherited by default.
            at: The point to begin at.
            id: As for `create`.
            controls: Of this process; inherited by default, as answers and declared controls always are.
        """
        ref = await self._point(at)
        state = await self._history.state(ref)
        world_id = world_id_or_new(id)
        here = await off_loop(self._store, lambda: self._store.world(self.id))
        turns = here.turns if ref == here.head else len(await self._history.lineage(ref))
        record = record_of_fork(here, world_id, ref, turns)
        await off_loop(self._store, lambda: self._store.create(record, state, {}))
        forked = World(
            record,
            self.scenario,
            store=self._store,
            engines=self._router.engines,
            model=self.model,
            checks=self._checks,
            controls=self.controls if controls is None else controls,
            access=self._access,
            tools=self._tools,
        )
        forked._history = self._history.copy()
        if seed is not None:
            turn = turn_with_seed(ref, state, seed)
            await forked._commit(turn, state.after(turn.change))
        return forked

    async def rewind(self, to: WorldRef | None = None) -> None:
        """Puts the world back to an earlier point, for everybody who has it open. All turns stay: their
        refs can be read, forked and gone back to.

        Raises:
            UnknownWorldError: the point (the root by default) is not of its history.
        """
        ref = await self._point(to or self._root)
        async with self._lock:
            self._require_open()
            record = await off_loop(self._store, lambda: self._store.rewind(self.id, ref))
            self._live.discard()
            self._head = record.head

    async def warm(self) -> None:
        """Brings up what answers the next call, for which it would be brought up otherwise."""
        async with self._lock:
            self._require_open()
            state = await self._history.state(self._head)
            for engine in {id(one): one for _, one in self._tools.values() if one}.values():
                await self._live.open(self._head, state, self._store.blobs, engine)
            live_worlds.touch(self)

    def rest(self) -> bool:
        """Frees the live engines until the next step, unless a call is being answered; whether it did."""
        if not self._lock.try_acquire():
            return False
        try:
            self._live.discard(unharmed=True)
        finally:
            self._lock.release()
        return True

    async def close(self) -> None:
        """Frees what the world holds in this process. What was stored stays."""
        self._closed = True
        if not self.rest():
            self._live.discard()
        self._history.clear()
        if self.model is not None:
            await self.model.release(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _until_stored(self, what: str, attempt: Callable[[], Awaitable[Turn | None]]) -> Turn:
        """The turn that `attempt` gives; it gives `None` when another process has moved the head meanwhile."""
        async with self._lock:
            self._require_open()
            for failed in range(COMMIT_TRIES):
                turn = await attempt()
                if turn is not None:
                    return turn
                # Compute again from where it stands now.
                await back_off(failed)
                self._head = (await off_loop(self._store, lambda: self._store.world(self.id))).head
        raise head_moved(self.id, what)

    async def _try_step(
        self, call: ToolCall, at: WorldRef | None, origin: Origin | None, on_delta: OnDelta | None
    ) -> Turn | None:
        """One try at a turn after `at`, or after the head."""
        self._router.require_answers_named(self._tools)
        base = await self._history.after_switches(at, self._head) if at else self._head
        before = await self._history.state(base)
        blobs = NewBlobs(self._store.blobs)
        pipeline = Pipeline(
            StepContext(
                call=call,
                tool=ToolSpec(name=call.name),  # looked up by the pipeline
                state=before,
                seed=turn_seed(before.seed, base),
                blobs=blobs,
                history=partial(self._history.calls, base),
                failures=self.failures,
                state_at=self._history.state,
                tools=self.tools,
                on_delta=on_delta,
            ),
            open_live=partial(self._live.open, base, before, self._store.blobs),
            bound=self._bound,
            checks=self._checks,
            controls=self._controls,
        )
        try:
            turn = await pipeline.run(base)
            # Whoever closed it meanwhile does not expect it to move on.
            self._require_open()
            after = before.after(turn.change)
            moves = base == self._head
            stored = await commit_turn(
                self._store, self.id, turn, after, blobs, must_move_head=moves, origin=origin
            )
        except BaseException as error:
            self._live.discard()
            if isinstance(error, AgentworldError) and error.exchanges:
                await keep_failure(self._store, self.id, error, call, base, blobs)
            raise
        if not stored:
            self._live.discard()
            return None
        for tell in self._watchers:
            tell(turn)
        self._history.follow(turn)
        self._live.follow(turn, pipeline.engine, altered=pipeline.altered)
        self._history.keep(turn.ref, after)
        if base == self._head:
            self._head = turn.ref
        return turn

    async def _commit(
        self, turn: Turn, after: WorldState, blobs: NewBlobs | None = None, *, moves: bool = False
    ) -> Turn | None:
        """Stores a turn that answers no call; gives it. `None` if it must move the head and does not."""
        if not await commit_turn(self._store, self.id, turn, after, blobs, must_move_head=moves):
            return None
        self._history.keep(turn.ref, after)
        self._head = turn.ref if self._head in turn.parents else self._head
        return turn

    async def _point(self, at: WorldRef | None) -> WorldRef:
        """One point: where the world stands, or where the branches meet that `at` names."""
        tips = tips_of(at or self._head)
        return tips[0] if len(tips) == 1 else await self.merge(tips)

    def _rule(self, tool: ToolSpec) -> Access | None:
        """What the access rules say of a tool: this process's own first, then the scenario's."""
        return access_for(tool, self._access) or access_for(tool, self.scenario.access)

    def _find(self, name: str) -> tuple[ToolSpec, Engine | None]:
        if name not in self._tools:
            raise unknown_tool(name, self._tools)
        return self._tools[name]

    def _bound(self, name: str) -> tuple[ToolSpec, Engine]:
        """A tool that may be answered, and what answers it."""
        tool, engine = self._find(name)
        if engine is None or tool.access != "simulate":
            refused = AccessRefused(self.refusal(name, brief=True))
            refused.add_note(self.refusal(name))  # shown in tracebacks, not to the agent
            raise refused
        return tool, engine

    def _require_open(self) -> None:
        if self._closed:
            raise UsageError(f"the world {self.id!r} is closed. Open it again by its id.")
