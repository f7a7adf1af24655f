"""Small helpers that every toolkit uses: observations, paths, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import splitext
from typing import Any

from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import normal_path, parent_of
from agentworld_sim.types.turns import Observation


def text_answer(text: str) -> Observation:
    return Observation(text=text)


def error_answer(text: str) -> Observation:
    """An answer that the real tool marks as an error."""
    return Observation(text=text, is_error=True)


def failure_text(
    form: str, *, is_error: bool = False
) -> Callable[[str, Mapping[str, Any], int], Observation]:
    """How a tool words a failure of ours: `form`, with `{error}` in it."""
    return lambda error, _arguments, _seed: Observation(
        text=form.format(error=error), is_error=is_error
    )


def absolute_path(turn: ShellTurn, path: str) -> str:
    """`path` as the tool's shell sees it, without `.`, `..` and double slashes."""
    return normal_path(path if path.startswith("/") else f"{turn.cwd}/{path}")


def write_file(turn: ShellTurn, path: str, data: bytes) -> None:
    """Writes a file, and makes the directories above it.

    Raises:
        OSError: it cannot be written.
    """
    turn.live.files.mkdir(parent_of(path), parents=True)
    turn.live.files.write(path, data)


def suffix_of(path: str) -> str:
    """`.png` of `Image.PNG`; empty for a name without one."""
    return splitext(path)[1].lower()
