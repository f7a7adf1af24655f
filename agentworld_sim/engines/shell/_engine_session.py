"""`ShellEngineSession`: a live machine that answers the calls of one world."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from agentworld_sim.engines.shell._live import LiveShell
from agentworld_sim.engines.shell._simple import is_simple
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.errors import EngineFailure
from agentworld_sim.ports import Answer, TurnContext
from agentworld_sim.schema.validate import check_arguments, fits_plainly
from agentworld_sim.toolkits import arguments_of, known_tool, resolved
from agentworld_sim.types.files import BlobId, Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

THREADS = 64
"""Turns that may compute at the same time; each is short, and a stuck one ends at its time limit."""

TURN_US = 100_000
"""What every turn takes on the world's clock, beside what it sleeps."""

RAW = "raw:"
"""Prefix of sessions that are not shells."""

OPENING_THREADS = 4
"""Machines that are brought up at the same time. More of them take the interpreter's lock from each other at
every file, and all take longer."""

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


class ShellEngineSession:
    """Implements `EngineSession`."""

    def __init__(self, live: LiveShell, state: WorldState) -> None:
        self._live = live
        self._kept: dict[str, bytes] = {}
        self._unread: Mapping[str, BlobId] = state.sessions
        self._computing: Future[Answer] | Future[bool] | None = None
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

    async def move(self, state: WorldState, blobs: Blobs) -> bool:
        changes = self._live.files.tree.changes_to(state.files)
        if len(changes) > MOST_MOVED or not (self._computing is None or self._computing.done()):
            return False
        if len(changes) <= MOVED_HERE:
            moved = self._live.move(changes, blobs)
        else:
            self._computing = opening_threads.submit(self._live.move, changes, blobs)
            moved = await asyncio.shield(asyncio.wrap_future(self._computing))
        self._kept, self._unread = {}, state.sessions
        return moved

    def close(self) -> None:
        if self._freed:
            return
        self._freed = True
        if self._computing is None or self._computing.done():
            self._live.close()
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
            self._kept.setdefault(name, context.blobs.get(blob))
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
