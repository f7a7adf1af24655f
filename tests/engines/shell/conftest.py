"""A freshly installed machine for tests of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agentworld_sim.engines.shell.commands import commands_of
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.engines.shell.live_shell import Keep, LiveShell, ShellRun
from agentworld_sim.engines.shell.machine import Machine
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.types.files import MemoryBlobs
from tests.engines.shell.limited import close_machines

CLOCK_US = 1_772_442_000_000_000
"""2026-03-02T09:00:00Z"""

SEED = 7


class MachineShell:
    """A machine and one shell on it. The working directory lasts from call to call."""

    def __init__(self, machine: Machine, *, seed: int = SEED, clock_us: int = CLOCK_US) -> None:
        self.blobs = MemoryBlobs()
        self.live = LiveShell(machine, commands_of(machine))
        self.live.materialise(base_tree(machine, clock_us, self.blobs), self.blobs)
        self.session = ShellSession()
        self.seed = seed
        self.clock_us = clock_us

    def run(self, script: str, stdin: str | None = None, *, keep: Keep = "cwd") -> ShellRun:
        """Runs `script` in a turn of its own; the clock goes on by what it slept."""
        self.live.start_turn(self.clock_us, self.seed)
        data = None if stdin is None else stdin.encode()
        result = self.live.run(script, self.session, keep=keep, stdin=data)
        self.live.collect(self.blobs)
        self.clock_us = self.live.files.clock.now_us()
        self.session = result.session
        return result

    def out(self, script: str, stdin: str | None = None) -> str:
        """Standard output of `script`, which must succeed without a message."""
        result = self.run(script, stdin)
        assert (result.stderr, result.exit_code) == ("", 0), result
        return result.stdout

    def fails(self, script: str, stdin: str | None = None) -> tuple[str, int]:
        """Standard error and exit code of `script`, which must print nothing else."""
        result = self.run(script, stdin)
        assert result.stdout == "", result
        return result.stderr, result.exit_code


@pytest.fixture(autouse=True)
def machines_closed() -> Iterator[None]:
    yield
    close_machines()


MakeMachine = Callable[..., MachineShell]


@pytest.fixture
def make_machine() -> Iterator[MakeMachine]:
    """Makes machines: `make_machine(machine=…, seed=…, clock_us=…)`."""
    made: list[MachineShell] = []

    def make(
        *, machine: Machine | None = None, seed: int = SEED, clock_us: int = CLOCK_US
    ) -> MachineShell:
        made.append(MachineShell(machine or Machine(), seed=seed, clock_us=clock_us))
        return made[-1]

    yield make
    for one in made:
        one.live.close()


@pytest.fixture
def machine_shell(make_machine: MakeMachine) -> MachineShell:
    return make_machine()
