"""Which engine sessions this process keeps up.

A live machine holds memory and file descriptors, and can be built again from a world's state; that takes
milliseconds. So only the worlds used last keep theirs, and a machine that nobody uses any more waits for the next
world of its engine: going to another state costs what differs, not the whole state.
"""

from __future__ import annotations

import os
import threading
import weakref
from itertools import islice
from typing import Protocol

from agentworld_sim.ports import Engine, EngineSession, MovableSession
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.turns import Turn

MOST_LIVE = 64
"""Worlds with a live engine, per process, where it may have files enough open: about 0.3 MB each. For the others it
is brought to where they stand."""

LEAST_LIVE = 32
"""Well below the usual limit of 1,024 open files for a process."""

FILES_EACH = 20
"""Open files of a live machine (15, measured), and some to spare."""

FILES_ELSE = 384
"""Open files that are left for everything else, idle sessions among it."""

MOST_IDLE = 8
"""Sessions that wait for another world."""


MOST_ASKED = 8
"""Worlds that are put to rest at one use of another."""


class IdleSessions:
    """Sessions that no world uses, the one used last at the end. A session is never that of two worlds."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._idle: list[tuple[int, weakref.ref[Engine], EngineSession]] = []

    async def open(
        self, engine: Engine, state: WorldState, blobs: Blobs, own: EngineSession | None
    ) -> EngineSession:
        """A session of `engine` in `state`. `own`, the world's session in another state, is used up."""
        session = own or self._take(engine)
        if isinstance(session, MovableSession):
            try:
                if await session.move(state, blobs):
                    return session
            except BaseException:
                session.close()
                raise
        if session is not None:
            session.close()
        return await engine.open(state, blobs)

    def keep(self, engine: Engine, session: EngineSession) -> None:
        """Takes the session of a world that does not need it any more, and that nothing runs in."""
        if not isinstance(session, MovableSession):
            session.close()
            return
        with self._guard:
            self._idle.append((os.getpid(), weakref.ref(engine), session))
            surplus = self._idle[:-MOST_IDLE]
            self._idle = self._idle[-MOST_IDLE:]
        for process, _, unused in surplus:
            if process == os.getpid():
                unused.close()

    def _take(self, engine: Engine) -> EngineSession | None:
        with self._guard:
            for number, (process, of, _) in reversed(list(enumerate(self._idle))):
                # A process that was forked has no threads for the sessions of its parent.
                if of() is engine and process == os.getpid():
                    return self._idle.pop(number)[2]
        return None


class LiveSessions:
    """The engine sessions of one world that are up, each at a point of its history."""

    def __init__(self) -> None:
        self._live: dict[str, tuple[WorldRef, Engine, EngineSession]] = {}

    def __bool__(self) -> bool:
        return bool(self._live)

    async def open(
        self, base: WorldRef, state: WorldState, blobs: Blobs, engine: Engine
    ) -> EngineSession:
        """The session of an engine at a point, in the state there."""
        ref, _, session = self._live.pop(engine.name, (None, None, None))
        if session is None or ref != base:
            session = await idle_sessions.open(engine, state, blobs, session)
        self._live[engine.name] = (base, engine, session)
        return session

    def follow(self, turn: Turn, engine: str, *, altered: bool) -> None:
        """Goes on to the point after a turn that `engine` answered.

        Args:
            altered: Whether the turn changed other things than the session did.
        """
        change = turn.change
        for name, (ref, of, session) in list(self._live.items()):
            if altered:
                session.close()
                del self._live[name]
            # Another engine's session knows what this one changed only if that is nothing.
            elif ref == turn.parent and (name == engine or not (change.files or change.sessions)):
                self._live[name] = (turn.ref, of, session)

    def discard(self, *, unharmed: bool = False) -> None:
        """Gives all up; those that are as the history says may serve other worlds."""
        live, self._live = self._live, {}
        for _, engine, session in live.values():
            if unharmed:
                idle_sessions.keep(engine, session)
            else:
                session.close()


class Restable(Protocol):
    """A world, as far as this module cares."""

    def rest(self) -> bool:
        """Frees what can be rebuilt; `False` when it is busy."""
        ...


class LiveWorlds:
    """The worlds that have a live engine, the one used last at the end."""

    def __init__(self, limit: int | None = None) -> None:
        """`limit` is by default what the process's limit of open files allows."""
        self._limit = limit
        self._guard = threading.Lock()
        self._worlds: dict[int, weakref.ref[Restable]] = {}

    def touch(self, world: Restable) -> None:
        """Notes a use, and puts the least recently used idle worlds to rest if there are too many."""
        with self._guard:
            self._worlds.pop(id(world), None)
            self._worlds[id(world)] = weakref.ref(world)
            if self._limit is None:
                self._limit = live_limit()
            surplus = len(self._worlds) - self._limit
            # Those that are busy stay, however many: not all of them are asked each time.
            oldest = list(islice(self._worlds.items(), max(0, min(surplus, MOST_ASKED))))
        for key, reference in oldest:
            held = reference()
            if held is None or held.rest():
                with self._guard:
                    self._worlds.pop(key, None)


def live_limit() -> int:
    """How many worlds of this process may be live."""
    try:
        import resource
    except ImportError:  # Windows has no such limit to ask for.
        return LEAST_LIVE
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_LIVE
    return max(LEAST_LIVE, min(MOST_LIVE, (files - FILES_ELSE) // FILES_EACH))


live_worlds = LiveWorlds()
"""Of this process."""

idle_sessions = IdleSessions()
"""Of this process."""
