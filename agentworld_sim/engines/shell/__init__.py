"""The embedded shell: bashkit, made to behave like a plain Debian machine."""

from agentworld_sim.engines.shell._engine import ShellEngine
from agentworld_sim.engines.shell._imagined import (
    CommandAnswer,
    CommandImaginer,
    CommandQuestion,
    FileOperation,
    ImaginedCommand,
    NobodyImagines,
    Validate,
)
from agentworld_sim.engines.shell._unfinished import needs_more_input
from agentworld_sim.engines.shell.limits import ShellLimits
from agentworld_sim.engines.shell.machine import Machine, User
from agentworld_sim.engines.shell.turn import ShellTurn

__all__ = [
    "CommandAnswer",
    "CommandImaginer",
    "CommandQuestion",
    "FileOperation",
    "ImaginedCommand",
    "Machine",
    "NobodyImagines",
    "ShellEngine",
    "ShellLimits",
    "ShellTurn",
    "User",
    "Validate",
    "needs_more_input",
]
