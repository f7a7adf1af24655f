"""The embedded shell: bashkit, made to behave like a plain Debian machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_LATE = {
    "CommandAnswer": "file_operations",
    "CommandQuestion": "command_question",
    "FileOperation": "file_operations",
    "Machine": "machine",
    "ShellEngine": "shell_engine",
    "ShellLimits": "machine",
    "ShellTurn": "turn",
    "User": "machine",
    "Validate": "file_operations",
    "machine_sum": "command_question",
    "needs_more_input": "script_analysis",
}
"""Imported when they are first asked for: a world whose tools are tables only needs no shell."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
