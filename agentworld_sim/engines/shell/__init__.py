"""The embedded shell: bashkit, made to behave like a plain Debian machine."""

from agentworld_sim.engines.shell.command_question import CommandQuestion, machine_sum
from agentworld_sim.engines.shell.file_operations import CommandAnswer, FileOperation, Validate
from agentworld_sim.engines.shell.machine import Machine, ShellLimits, User
from agentworld_sim.engines.shell.script_analysis import needs_more_input
from agentworld_sim.engines.shell.shell_engine import ShellEngine
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
