"""`ShellEngine`: computes the terminal and the coding tools on the embedded shell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from agentworld_sim.engines.shell._engine_session import ShellEngineSession, opening_threads
from agentworld_sim.engines.shell._imagining import ImaginingSession
from agentworld_sim.engines.shell._live import LiveShell
from agentworld_sim.engines.shell._routes import Routes
from agentworld_sim.engines.shell._unknown import CommandNames, UnknownCommands
from agentworld_sim.engines.shell.commands import COMMANDS
from agentworld_sim.engines.shell.limits import ShellLimits
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.ports import Imaginer
from agentworld_sim.toolkits import bound_to, unknown_to
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import Route, ToolSpec


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
        return bound_to(tool, self.name)

    def refusal(self, tool: ToolSpec) -> str:
        return unknown_to(tool, self.name)

    async def open(self, state: WorldState, blobs: Blobs) -> ShellEngineSession:
        loop = asyncio.get_running_loop()
        if self._names is None:
            live = await loop.run_in_executor(opening_threads, self._open, state, blobs, None)
            return ShellEngineSession(live, state, blobs)
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
        )

    def _open(self, state: WorldState, blobs: Blobs, unknown: UnknownCommands | None) -> LiveShell:
        from agentworld_sim.engines.shell.image import system_mounts

        imagined = frozenset[str]() if self._names is None else self._names.programs
        live = LiveShell(
            self.machine,
            COMMANDS,
            mounts=system_mounts(self.machine, imagined),
            limits=self.limits,
            unknown=unknown,
        )
        live.materialise(state.files, blobs)
        return live
