"""The embedded shell: bashkit, made to behave like a plain Debian machine."""

from agentworld_sim.engines.shell._command_question import CommandQuestion
from agentworld_sim.engines.shell._engine import ShellEngine
from agentworld_sim.engines.shell._imagined import CommandAnswer, FileOperation, Validate
from agentworld_sim.engines.shell._question import machine_sum
from agentworld_sim.engines.shell._unfinished import needs_more_input
from agentworld_sim.engines.shell.limits import ShellLimits
from agentworld_sim.engines.shell.machine import Machine, User
from agentworld_sim.engines.shell.turn import ShellTurn

__all__ = [
    "CommandAnswer",
    "CommandQuestion",
    "FileOperation",
    "Machine",
    "ShellEngine",
    "ShellLimits",
    "ShellTurn",
    "User",
    "Validate",
    "machine_sum",
    "needs_more_input",
]
