"""`ShellEngine`: computes the terminal and the coding tools on the embedded shell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from agentworld_sim.engines.shell.command_question import CommandQuestion
from agentworld_sim.engines.shell.commands import commands_of, programs_of
from agentworld_sim.engines.shell.file_operations import CommandAnswer
from agentworld_sim.engines.shell.live_shell import LiveShell
from agentworld_sim.engines.shell.machine import Machine, ShellLimits
from agentworld_sim.engines.shell.network_door import NetworkDoor
from agentworld_sim.engines.shell.script_analysis import JobsMet, is_simple
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.engines.shell.unknown_commands import (
    CommandNames,
    Routes,
    StaleNames,
    UnansweredQuestion,
    UnknownCommands,
)
from agentworld_sim.errors import AccessRefused, AgentworldError, EngineFailure
from agentworld_sim.ports import Answer, ImaginedValue, Imaginer, StepContext
from agentworld_sim.schema.validate import check_arguments, fits_plainly
from agentworld_sim.toolkits import arguments_of, bind_to, known_tool, resolve_function, unknown_to
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.files import BlobId, Blobs, MemoryBlobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import Route, ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Provenance

if TYPE_CHECKING:
    from agentworld_sim.engines.web.requests import Internet

THREADS = 64
"""Turns that may compute at the same time; each is short, and a stuck one ends at its time limit."""

TURN_US = 100_000
"""What every turn takes on the world's clock, beside what it sleeps."""

RAW = "raw:"
"""Prefix of sessions that are not shells."""

OPENING_THREADS = 4
"""Machines that are brought up at the same time. More of them take the interpreter's lock from each other at
every file, and all take longer."""

MOST_RUNS = 200
"""Of one turn, beside those for answers: names are learned in a few."""

MOST_MOVED = 500
"""Paths that may differ where a machine is brought to another state: with more, a new one is as fast."""

MOVED_HERE = 16
"""Paths that are changed sooner than a thread has begun."""

_SHORT_LOOKS = frozenset({"read_file", "Read", "ls", "list_directory"})
"""Tools whose calls are a look at one file or folder, sure to end at once."""

threads = ThreadPoolExecutor(THREADS, thread_name_prefix="agentworld-shell")
opening_threads = ThreadPoolExecutor(OPENING_THREADS, thread_name_prefix="agentworld-shell-opening")


def is_quick(call: ToolCall, tool: ToolSpec) -> bool:
    """Whether a call is sure to be answered at once."""
    known = known_tool(tool.binds_to)
    if known is None or known.name in _SHORT_LOOKS:
        return known is not None
    command = arguments_of(tool.binds_to, call.arguments).get("command")
    return known.keeps == "nothing" and isinstance(command, str) and is_simple(command)


@lru_cache(maxsize=32)
def _names_of(ranked: tuple[tuple[str, Route], ...], machine: Machine) -> CommandNames:
    # Sorting hundreds of commands takes a millisecond, and most worlds have the same routes.
    return CommandNames(Routes(dict(ranked)), machine)


class ShellEngine:
    """Implements `Engine` for the domains `terminal` and `swe`."""

    name = "shell"
    route: Literal["compute"] = "compute"

    def __init__(
        self,
        machine: Machine | None = None,
        limits: ShellLimits | None = None,
        *,
        imaginer: Imaginer | None = None,
        routes: Mapping[str, Route] | None = None,
        internet: Callable[[], Internet | None] | None = None,
    ) -> None:
        """
        Args:
            machine: What the simulated machine says about itself.
            limits: What a turn may use.
            imaginer: Answers commands that the shell does not have; without one they are not
                found, as on a real machine.
            routes: Command name or glob pattern to who answers it. An exact name counts first,
                then the first pattern that fits. Without an imaginer, what no route names is
                computed, and what one sends to it is refused aloud.
            internet: Makes that of a machine that has one, when a command first asks a host.
        """
        self.machine = machine or Machine()
        self.limits = limits or ShellLimits()
        self._imaginer = imaginer
        self.internet = internet and cache(internet)
        # In their order, which is their rank.
        ranked = tuple((routes or {}).items())
        # A script whose interpreter is a program of the extra is found like a command that the shell lacks.
        if imaginer is None and (ranked or programs_of(self.machine)) and "*" not in (routes or {}):
            ranked = (*ranked, ("*", "compute"))
        self._names = _names_of(ranked, self.machine) if imaginer is not None or ranked else None

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return bind_to(tool, self.name)

    def refusal(self, tool: ToolSpec) -> str:
        return unknown_to(tool, self.name)

    async def open(self, state: WorldState, blobs: Blobs) -> ShellEngineSession:
        unknown = self.unknown_commands()
        loop = asyncio.get_running_loop()
        live = await loop.run_in_executor(opening_threads, self.bring_up, state, blobs, unknown)
        return ShellEngineSession(self, live, state, blobs, unknown)

    def unknown_commands(self) -> UnknownCommands | None:
        """What a new session asks about commands; `None` where none is imagined."""
        return None if self._names is None else UnknownCommands(self._names, self.limits)

    def bring_up(
        self, state: WorldState, blobs: Blobs, unknown: UnknownCommands | None
    ) -> LiveShell:
        """A machine in a state. Blocking."""
        live = LiveShell(
            self.machine, commands_of(self.machine), limits=self.limits, unknown=unknown
        )
        live.materialise(state.files, blobs)
        return live

    async def imagine(
        self, question: CommandQuestion, context: StepContext
    ) -> ImaginedValue[CommandAnswer]:
        """Asks the imaginer about a command.

        Raises:
            AccessRefused: there is none.
        """
        if self._imaginer is None:
            words = " ".join(question.argv)
            raise AccessRefused(
                f"the command {words[:300]!r} has the route 'imagine', and this world has no language"
                " world model. Name one (AGENTWORLD_MODEL_URL, or `model=`), or take the route away."
            )
        return await self._imaginer.ask(question, context)


class ShellEngineSession:
    """Implements `EngineSession`: a live machine that answers the calls of one world.

    Where a command is imagined: stop, ask, run again. The script is stopped at the command, the machine is
    given up, the imaginer is awaited on the event loop with no thread held, and the turn is computed
    again from its beginning, in which the command now has its answer. Clock, random source and files are
    those of the beginning, so everything before the command happens exactly as it did.
    """

    def __init__(
        self,
        engine: ShellEngine,
        live: LiveShell,
        state: WorldState,
        blobs: Blobs,
        unknown: UnknownCommands | None,
    ) -> None:
        """`live` is a machine in `state`; it asks `unknown` about commands, where some are imagined."""
        self._engine = engine
        self._live: LiveShell | None = live
        self._unknown = unknown
        self._kept: dict[str, bytes] = {}
        self._unread: Mapping[str, BlobId] = state.sessions
        self._blobs = blobs
        self._computing: Future[Any] | None = None
        self._closed = False
        self._past_known = False
        self._memory: dict[str, Any] = {}
        self._provenance: Provenance = "imagined"
        """Where the last answer to a command came from."""

    async def answer(self, context: StepContext) -> Answer:
        call, tool = context.call, context.tool
        if self._unknown is None:
            answer = await self._run(call, tool, context, here=is_quick(call, tool))
            assert isinstance(answer, Answer)
            return answer
        exchanges: list[Exchange] = []
        try:
            return await self._imagining(self._unknown, call, tool, context, exchanges)
        except AgentworldError as failure:
            failure.exchanges = (*exchanges, *failure.exchanges)
            raise

    async def move(self, state: WorldState, blobs: Blobs) -> bool:
        """Brings the session to another state, of any world of its engine, as if it had been opened there.

        That costs what differs, where opening another costs two milliseconds and the whole state. False if
        it cannot be: the session is of no more use then.
        """
        live = self._live
        if live is None or not (self._computing is None or self._computing.done()):
            return False
        changed = len(live.files.tree.changes_to(state.files))
        unknown = self._engine.unknown_commands()
        if changed > MOST_MOVED or not live.retire(unknown):
            return False
        # A store on disk would block the loop.
        if changed <= MOVED_HERE and isinstance(blobs, MemoryBlobs):
            live.materialise(state.files, blobs)
        else:
            self._computing = opening_threads.submit(live.materialise, state.files, blobs)
            await asyncio.shield(asyncio.wrap_future(self._computing))
        self._unknown, self._blobs = unknown, blobs
        self._kept, self._unread = {}, state.sessions
        # What was learned and asked belongs to the branch that it came from.
        self._past_known, self._memory, self._provenance = False, {}, "imagined"
        return True

    def close(self) -> None:
        live, self._live = self._live, None
        self._closed = True
        if live is None:
            return
        if self._computing is None or self._computing.done():
            live.close()
            return
        # The machine is freed when what runs on it has noticed that it is not wanted any more.
        live.cancel()
        self._computing.add_done_callback(lambda _: live.close())

    async def _imagining(
        self,
        unknown: UnknownCommands,
        call: ToolCall,
        tool: ToolSpec,
        context: StepContext,
        exchanges: list[Exchange],
    ) -> Answer:
        """Answers a call; what was asked and said on the way is added to `exchanges`."""
        limit = self._engine.limits.imagined_commands
        here = is_quick(call, tool) and unknown.names.simple
        asked = 0
        unknown.start_turn()
        for _ in range(MOST_RUNS + limit):
            await self._require_up(unknown, context)
            unknown.start_run()
            outcome = await self._run(call, tool, context, here=here)
            if isinstance(outcome, Answer):
                return self._with_inner(unknown, outcome, tuple(exchanges))
            if self._live is not None:
                # It is in the middle of a turn, and its file systems have file descriptors too.
                self._live.close()
                self._live = None
            if isinstance(outcome, StaleNames):
                unknown.learn(outcome)
            elif not await self._learn_past(unknown, context):
                asked += 1
                if asked > limit:
                    raise EngineFailure(
                        f"The script {outcome.question.script[:300]!r} calls more than {limit} commands"
                        " that have to be imagined (ShellLimits.imagined_commands). Raise the limit, or"
                        " call fewer."
                    )
                question = replace(
                    outcome.question,
                    earlier=tuple(unknown.turn.asked),
                    history=await context.history(),
                    memory=self._memory,
                )
                imagined = await self._engine.imagine(question, context)
                exchanges += imagined.exchanges
                self._provenance = imagined.provenance
                _require_usable(outcome.question, imagined.value)
                unknown.give(outcome, imagined.value)
        raise EngineFailure(
            f"The call {call.name!r} found new commands in each of {MOST_RUNS} runs. Name commands"
            " literally, or give them the route 'compute'."
        )

    async def _run(
        self, call: ToolCall, tool: ToolSpec, context: StepContext, *, here: bool
    ) -> Answer | StaleNames | UnansweredQuestion:
        """Computes the turn, as far as it can be; again if two of its jobs met."""
        try:
            return await self._run_once(call, tool, context, here=here)
        except JobsMet:
            if self._live is not None:
                self._live.close()
                self._live = None
            await self._require_up(self._unknown, context)
            assert self._live is not None
            if self._unknown is not None:
                self._unknown.start_run()
            self._live.has_jobs = True
            outcome = await self._run_once(call, tool, context, here=False)
            if self._live is not None:
                self._live.has_jobs = False
            return outcome

    async def _run_once(
        self, call: ToolCall, tool: ToolSpec, context: StepContext, *, here: bool
    ) -> Answer | StaleNames | UnansweredQuestion:
        live = self._live
        assert live is not None
        if here and not self._unread:
            # Shorter than the way to a thread and back.
            return self._compute(live, call, tool, context)
        loop = asyncio.get_running_loop()
        computing = threads.submit(self._compute, live, call, tool, context)
        self._computing = computing
        try:
            return await asyncio.shield(asyncio.wrap_future(computing, loop=loop))
        except asyncio.CancelledError:
            # What was closed meanwhile was stopped then, and may be gone.
            if not self._closed:
                live.cancel()
            raise

    def _compute(
        self, live: LiveShell, call: ToolCall, tool: ToolSpec, context: StepContext
    ) -> Answer | StaleNames | UnansweredQuestion:
        try:
            return self._answer(live, call, tool, context)
        except (StaleNames, UnansweredQuestion) as stopped:
            # Its frames hold the machine, and so would a future that it is raised through: file
            # descriptors that nobody needs while an imaginer is asked.
            stopped.__context__ = None
            return stopped.with_traceback(None)

    def _answer(
        self, live: LiveShell, call: ToolCall, tool: ToolSpec, context: StepContext
    ) -> Answer:
        known = known_tool(tool.binds_to)
        if known is None:
            raise EngineFailure(f"the shell engine was given {tool.name!r}, which it cannot answer")
        arguments = arguments_of(tool.binds_to, call.arguments)
        wanted = known.input_schema
        if tool.input_schema != wanted and not fits_plainly(wanted, arguments):
            # The user's schema may leave optional what the operation cannot do without.
            check_arguments(replace(tool, input_schema=wanted), arguments)
        for name, blob in self._unread.items():
            self._kept.setdefault(name, self._blobs.get(blob))
        self._unread = {}
        turn = ShellTurn(
            live,
            {
                name: ShellSession.from_bytes(data)
                for name, data in self._kept.items()
                if not name.startswith(RAW)
            },
            {
                name.removeprefix(RAW): data
                for name, data in self._kept.items()
                if name.startswith(RAW)
            },
            shell=known.shell or known.id,
        )
        live.obey(Conditions.of(context.state.values))
        live.start_turn(context.state.clock_us, context.seed)
        internet = self._engine.internet
        network = internet and NetworkDoor(internet, context.state, live.files.clock)
        live.network = network
        observation: Observation = resolve_function(known.operation)(turn, arguments)
        if known.output_schema is not None and tool.output_schema is None:
            # An older release of the same server answers with text alone.
            observation = replace(observation, structured=None)
        files = live.collect(context.blobs)
        clock_us = live.files.clock.now_us() + TURN_US
        sessions = self._keep(turn, context.blobs)
        change = StateChange(clock_us=clock_us, files=files, sessions=sessions)
        return Answer(observation, change if network is None else network.change.then(change))

    def _keep(self, turn: ShellTurn, blobs: Blobs) -> Mapping[str, BlobId]:
        changed: dict[str, BlobId] = {}
        for name in sorted(turn.changed):
            if name in turn.raw:
                key, data = RAW + name, turn.raw[name]
            else:
                key, data = name, turn.sessions[name].to_bytes()
            if self._kept.get(key) != data:
                self._kept[key] = data
                changed[key] = blobs.put(data)
        return changed

    def _with_inner(
        self, unknown: UnknownCommands, answer: Answer, exchanges: tuple[Exchange, ...]
    ) -> Answer:
        inner = unknown.turn.inner()
        unknown.end_turn()
        if not inner:
            return answer
        observation = replace(answer.observation, provenance=self._provenance)
        return replace(answer, observation=observation, inner=inner, exchanges=exchanges)

    async def _require_up(self, unknown: UnknownCommands | None, context: StepContext) -> None:
        """Brings the machine up in the state before the turn, if it is down."""
        if self._live is not None:
            return
        loop = asyncio.get_running_loop()
        live = await loop.run_in_executor(
            threads, self._engine.bring_up, context.state, context.blobs, unknown
        )
        if self._closed:
            live.close()
            raise EngineFailure("the world was closed while one of its commands was being answered")
        self._live = live

    async def _learn_past(self, unknown: UnknownCommands, context: StepContext) -> bool:
        """Looks at the turns before the session, once; whether commands were answered in them."""
        if self._past_known:
            return False
        self._past_known = True
        history = await context.history()
        unknown.remember(history)
        past = [turn.observation.provenance for turn in history if turn.inner]
        if past and past[-1] in ("native", "replayed"):
            self._provenance = past[-1]
        return bool(past)


def _require_usable(question: CommandQuestion, answer: CommandAnswer) -> None:
    problem = question.validate(answer)
    if problem is not None:
        words = " ".join(question.argv)
        raise EngineFailure(
            f"The recorded or imagined answer to the command {words[:300]!r} cannot be used:"
            f" {problem}. It cannot be carried out here: record it anew."
        )
