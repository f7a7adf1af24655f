"""`ShellEngine`: computes the terminal and the coding tools on the embedded shell.

Bringing a machine up takes two milliseconds: an interpreter that knows our commands, and the files of a
fresh system. A machine in which nothing is left of its world takes over another one by writing only the
files that differ, so a fork, or a new world at the same beginning, has its machine at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal

from agentworld_sim.engines.shell.commands import COMMANDS
from agentworld_sim.engines.shell.file_operations import CommandAnswer
from agentworld_sim.engines.shell.live_shell import LiveShell
from agentworld_sim.engines.shell.machine import Machine, ShellLimits
from agentworld_sim.engines.shell.script_analysis import is_simple
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.engines.shell.unknown_commands import (
    CommandNames,
    Misnamed,
    Routes,
    Unanswered,
    UnknownCommands,
)
from agentworld_sim.errors import AccessRefused, AgentworldError, EngineFailure, nearest
from agentworld_sim.ports import Answer, Imagined, Imaginer, TurnContext
from agentworld_sim.schema.validate import check_arguments, fits_plainly
from agentworld_sim.toolkits import arguments_of, binding_for, known_tool, known_tools, resolved
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.files import BlobId, Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import Route, ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

MOST_IDLE = 4
"""Of all kinds together: each has about 15 open files and half a megabyte."""

_idle: list[tuple[Hashable, LiveShell]] = []


def take(kind: Hashable, new: Callable[[], LiveShell]) -> LiveShell:
    """A machine of a kind, with the files of whichever world it had before; `new` makes the first."""
    for one in reversed(_idle.copy()):
        if one[0] == (os.getpid(), kind):
            try:
                _idle.remove(one)
            except ValueError:
                # Another thread was faster.
                continue
            return one[1]
    return new()


def give_back(kind: Hashable, machine: LiveShell) -> None:
    """Keeps a machine, or frees it where another world could see that it was not the first."""
    if not machine.retire():
        machine.close()
        return
    _idle.append(((os.getpid(), kind), machine))
    if len(_idle) > MOST_IDLE:
        _idle.pop(0)[1].close()


THREADS = 64
"""Turns that may compute at the same time; each is short, and a stuck one ends at its time limit."""

TURN_US = 100_000
"""What every turn takes on the world's clock, beside what it sleeps."""

RAW = "raw:"
"""Prefix of sessions that are not shells."""

OPENING_THREADS = 4
"""Machines that are brought up at the same time. More of them take the interpreter's lock from each other at
every file, and all take longer."""

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


class ShellEngineSession:
    """Implements `EngineSession`."""

    def __init__(
        self,
        live: LiveShell,
        state: WorldState,
        blobs: Blobs,
        free: Callable[[LiveShell], None] = LiveShell.close,
    ) -> None:
        self._live = live
        self._free = free
        self._kept: dict[str, bytes] = {}
        self._unread: Mapping[str, BlobId] = state.sessions
        self._blobs = blobs
        self._computing: Future[Answer] | None = None
        self._freed = False

    async def answer(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        return await self._computed(call, tool, context, here=is_quick(call, tool))

    async def _computed(
        self, call: ToolCall, tool: ToolSpec, context: TurnContext, *, here: bool
    ) -> Answer:
        if here and not self._unread:
            # Shorter than the way to a thread and back.
            return self._compute(call, tool, context)
        loop = asyncio.get_running_loop()
        computing = threads.submit(self._compute, call, tool, context)
        self._computing = computing
        try:
            return await asyncio.shield(asyncio.wrap_future(computing, loop=loop))
        except asyncio.CancelledError:
            # What was closed meanwhile was stopped then, and may be gone.
            if not self._freed:
                self._live.cancel()
            raise

    def close(self) -> None:
        if self._freed:
            return
        self._freed = True
        if self._computing is None or self._computing.done():
            self._free(self._live)
            return
        # The machine is freed when what runs on it has noticed that it is not wanted any more.
        self._live.cancel()
        self._computing.add_done_callback(lambda _: self._live.close())

    def _compute(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
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
            self._live,
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
        self._live.start_turn(context.state.clock_us, context.seed)
        observation: Observation = resolved(known.operation)(turn, arguments)
        if known.output_schema is not None and tool.output_schema is None:
            # An older release of the same server answers with text alone.
            observation = replace(observation, structured=None)
        files = self._live.collect(context.blobs)
        clock_us = self._live.files.clock.now_us() + TURN_US
        sessions = self._keep(turn, context.blobs)
        return Answer(observation, StateChange(clock_us=clock_us, files=files, sessions=sessions))

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


MOST_RUNS = 200
"""Of one turn, beside those for answers: names are learned in a few."""

_STOPPED = Answer(Observation(text=""), StateChange(clock_us=0))
"""In place of an answer where the turn was stopped."""

BringUp = Callable[[WorldState, Blobs], LiveShell]


class ImaginingSession(ShellEngineSession):
    """Implements `EngineSession` where commands are imagined."""

    def __init__(
        self,
        live: LiveShell,
        state: WorldState,
        blobs: Blobs,
        *,
        bring_up: BringUp,
        imaginer: Imaginer | None,
        unknown: UnknownCommands,
        limits: ShellLimits,
        free: Callable[[LiveShell], None] = LiveShell.close,
    ) -> None:
        """
        Args:
            live: The machine, in `state`.
            state: Where the session begins.
            blobs: Where contents are found.
            bring_up: Makes another machine in a given state; blocking.
            imaginer: Answers the commands; without one, those whose route is `imagine` are refused.
            unknown: What `live` and every other machine of `bring_up` asks.
            limits: Of a turn.
            free: Frees a machine that is not in the middle of a turn.
        """
        super().__init__(live, state, blobs, free)
        self._bring_up = bring_up
        self._imaginer = imaginer
        self._unknown = unknown
        self._limits = limits
        self._down = False
        self._closed = False
        self._past_known = False
        self._memory: dict[str, Any] = {}
        self._replayed = False
        """Whether commands are answered from a recording."""
        self._stopped: Misnamed | Unanswered | None = None

    async def answer(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        exchanges: list[Exchange] = []
        try:
            return await self._answer(call, tool, context, exchanges)
        except AgentworldError as failure:
            failure.exchanges = (*exchanges, *failure.exchanges)
            raise

    async def _answer(
        self, call: ToolCall, tool: ToolSpec, context: TurnContext, exchanges: list[Exchange]
    ) -> Answer:
        """Answers a call; what was asked and said on the way is added to `exchanges`."""
        here = is_quick(call, tool) and self._unknown.names.simple
        asked = 0
        self._unknown.start_turn()
        for _ in range(MOST_RUNS + self._limits.imagined_commands):
            outcome = await self._run(call, tool, context, here=here)
            if isinstance(outcome, Answer):
                return self._finished(outcome, tuple(exchanges))
            self._take_down()
            if isinstance(outcome, Misnamed):
                self._unknown.learn(outcome)
            elif not await self._learned_past(context):
                asked += 1
                self._require_within(asked, outcome)
                imagined = await self._asked(outcome, context)
                exchanges += imagined.exchanges
                self._replayed = imagined.provenance == "replayed"
                self._require_usable(outcome, imagined.value)
                self._unknown.give(outcome, imagined.value)
        raise EngineFailure(
            f"The call {call.name!r} found new commands in each of {MOST_RUNS} runs. Name commands"
            " literally, or give them the route 'compute'."
        )

    async def _run(
        self, call: ToolCall, tool: ToolSpec, context: TurnContext, *, here: bool
    ) -> Answer | Misnamed | Unanswered:
        """Computes the turn as far as it can be."""
        await self._require_up(context)
        self._unknown.start_run()
        self._stopped = None
        answer = await self._computed(call, tool, context, here=here)
        return self._stopped or answer

    def _compute(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        try:
            return super()._compute(call, tool, context)
        except (Misnamed, Unanswered) as stopped:
            # Its frames hold the machine, and so would a future that it is raised through: file
            # descriptors that nobody needs while an imaginer is asked.
            stopped.__context__ = None
            self._stopped = stopped.with_traceback(None)
            return _STOPPED

    def _finished(self, answer: Answer, exchanges: tuple[Exchange, ...]) -> Answer:
        inner = self._unknown.turn.inner()
        self._unknown.end_turn()
        if not inner:
            return answer
        provenance = "replayed" if self._replayed else "imagined"
        observation = replace(answer.observation, provenance=provenance)
        return replace(answer, observation=observation, inner=inner, exchanges=exchanges)

    def close(self) -> None:
        self._closed = True
        if not self._down:
            super().close()

    def _take_down(self) -> None:
        """Frees the machine: it is in the middle of a turn."""
        self._down = True
        self._live.close()
        # Its file systems have file descriptors too.
        del self._live

    async def _require_up(self, context: TurnContext) -> None:
        """Brings the machine up in the state before the turn, if it is down."""
        if not self._down:
            return
        loop = asyncio.get_running_loop()
        self._live = await loop.run_in_executor(
            threads, self._bring_up, context.state, context.blobs
        )
        self._down = False
        if self._closed:
            self._take_down()
            raise EngineFailure("the world was closed while one of its commands was being answered")

    async def _learned_past(self, context: TurnContext) -> bool:
        """Looks at the turns before the session, once; whether commands were answered in them."""
        if self._past_known:
            return False
        self._past_known = True
        history = await context.history()
        self._unknown.remember(history)
        past = [turn.observation.provenance for turn in history if turn.inner]
        self._replayed = self._replayed or "replayed" in past[-1:]
        return bool(past)

    def _require_within(self, asked: int, unanswered: Unanswered) -> None:
        if asked > self._limits.imagined_commands:
            raise EngineFailure(
                f"The script {unanswered.question.script[:300]!r} calls more than"
                f" {self._limits.imagined_commands} commands that have to be imagined"
                " (ShellLimits.imagined_commands). Raise the limit, or call fewer."
            )

    async def _asked(self, unanswered: Unanswered, context: TurnContext) -> Imagined[CommandAnswer]:
        if self._imaginer is None:
            words = " ".join(unanswered.question.argv)
            raise AccessRefused(
                f"the command {words[:300]!r} has the route 'imagine', and this world has no language"
                " world model. Name one (AGENTWORLD_MODEL_URL, or `model=`), or take the route away."
            )
        question = replace(
            unanswered.question,
            earlier=tuple(self._unknown.turn.asked),
            history=await context.history(),
            memory=self._memory,
        )
        return await self._imaginer.ask(question, context)

    def _require_usable(self, unanswered: Unanswered, answer: CommandAnswer) -> None:
        problem = unanswered.question.validate(answer)
        if problem is not None:
            words = " ".join(unanswered.question.argv)
            raise EngineFailure(
                f"The recorded or imagined answer to the command {words[:300]!r} cannot be used:"
                f" {problem}. It cannot be carried out here: record it anew."
            )


@lru_cache(maxsize=32)
def _names_of(ranked: tuple[tuple[str, Route], ...]) -> CommandNames:
    # Sorting hundreds of commands takes a millisecond, and most worlds have the same routes.
    return CommandNames(Routes(dict(ranked)))


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
        """
        self.machine = machine or Machine()
        self.limits = limits or ShellLimits()
        self._imaginer = imaginer
        # In their order, which is their rank.
        ranked = tuple((routes or {}).items())
        Routes(dict(ranked))
        if imaginer is None and ranked and "*" not in (routes or {}):
            ranked = (*ranked, ("*", "compute"))
        self._names = _names_of(ranked) if imaginer is not None or ranked else None

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        known = binding_for(tool)
        if known is None or known.engine != self.name:
            return None
        return replace(tool, domain=known.domain, binds_to=tool.binds_to or known.id)

    def refusal(self, tool: ToolSpec) -> str:
        own = [known for known in known_tools().values() if known.engine == self.name]
        named = {name for known in own for name in known.names}
        if tool.name in named:
            return (
                f"There is a known tool named {tool.name!r}, but with other arguments than"
                f" {', '.join(map(repr, tool.input_schema.get('properties', {}))) or 'none'}."
                " If it is that tool, say so (binds_to=…)."
            )
        return (
            "It is none of the shell and file tools that are known."
            f"{nearest(tool.name, named)} If it is one, say so (binds_to=…)."
        )

    async def open(self, state: WorldState, blobs: Blobs) -> ShellEngineSession:
        loop = asyncio.get_running_loop()
        if self._names is None:
            live = await loop.run_in_executor(opening_threads, self._open, state, blobs, None)
            return ShellEngineSession(live, state, blobs, self._free)
        unknown = UnknownCommands(self._names, self.limits)
        live = await loop.run_in_executor(opening_threads, self._open, state, blobs, unknown)
        return ImaginingSession(
            live,
            state,
            blobs,
            bring_up=lambda state, blobs: self._open(state, blobs, unknown),
            imaginer=self._imaginer,
            unknown=unknown,
            limits=self.limits,
            free=self._free,
        )

    def _open(self, state: WorldState, blobs: Blobs, unknown: UnknownCommands | None) -> LiveShell:
        from agentworld_sim.engines.shell.image import system_mounts

        imagined = frozenset[str]() if self._names is None else self._names.programs

        def new() -> LiveShell:
            mounts = system_mounts(self.machine, imagined)
            return LiveShell(
                self.machine, COMMANDS, mounts=mounts, limits=self.limits, unknown=unknown
            )

        live = take((self.machine, self.limits, self._names), new)
        live.unknown = unknown
        try:
            live.materialise(state.files, blobs)
        except BaseException:
            live.close()
            raise
        return live

    def _free(self, live: LiveShell) -> None:
        give_back((self.machine, self.limits, self._names), live)
