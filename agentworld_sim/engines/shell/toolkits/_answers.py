"""Small helpers that every toolkit uses: observations, paths."""

from __future__ import annotations

from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import normal_path
from agentworld_sim.types.turns import Observation


def text_answer(text: str) -> Observation:
    """A computed answer."""
    return Observation(text=text)


def error_answer(text: str) -> Observation:
    """An answer that the real tool marks as an error."""
    return Observation(text=text, is_error=True)


def absolute_path(turn: ShellTurn, path: str) -> str:
    """`path` as the tool's shell sees it, without `.`, `..` and double slashes."""
    return normal_path(path if path.startswith("/") else f"{turn.cwd}/{path}")
