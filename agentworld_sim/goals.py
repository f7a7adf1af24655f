"""Goal checks: does a world's state meet what its scenario asks for?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.runtime.commit import off_loop
from agentworld_sim.types.files import normal_path, parent_of
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.world import World

if TYPE_CHECKING:
    from agentworld_sim.scenario import CommandGoal, FileGoal, Goal

__all__ = ["GoalResult", "check_goals"]

_RUN = ToolSpec(name="goal-command", binds_to="shell/run")

MAX_LINKS = 40
"""Symbolic links followed before a path counts as missing, as in Linux."""


@dataclass(frozen=True, slots=True)
class GoalResult:
    """What became of one goal."""

    goal: str
    """The goal in one line."""
    met: bool
    reason: str = ""
    """Why not; empty when met."""


async def check_goals(world: World, *, at: WorldRef | None = None) -> list[GoalResult]:
    """Checks every goal of the world's scenario at a point of its history; here by default.

    Commands run in a fork that is thrown away, each in a fresh shell: checking changes nothing.
    """
    return [await _checked(world, goal, at or world.ref) for goal in world.scenario.goals]


async def _checked(world: World, goal: Goal, at: WorldRef) -> GoalResult:
    from agentworld_sim.scenario import FileGoal

    if isinstance(goal, FileGoal):
        condition = {name: value for name, value in goal if name != "file" and value is not None}
        title = f"{goal.file}: {' '.join(f'{name} {value!r}' for name, value in condition.items())}"
        reason = await _file_problem(world, goal, at)
    else:
        title = f"$ {goal.command}"
        reason = await _command_problem(world, goal, at)
    return GoalResult(title, not reason, reason)


async def _file_problem(world: World, goal: FileGoal, at: WorldRef) -> str:
    data = await content_at(world, goal.file, at)
    if goal.exists is not None:
        if (data is not None) == goal.exists:
            return ""
        return "it is there" if data is not None else "it is not there"
    if data is None:
        return "it is not there"
    if goal.unchanged:
        return "" if data == await content_at(world, goal.file, world.root) else "it was changed"
    text = data.decode("utf-8", "replace")
    if goal.equals is not None:
        return "" if text == goal.equals else f"it says {_short(text)}"
    if goal.contains is not None:
        return "" if goal.contains in text else f"it says {_short(text)}"
    found = re.search(goal.matches or "", text, re.MULTILINE)
    return "" if found else f"it says {_short(text)}"


async def content_at(world: World, path: str, at: WorldRef) -> bytes | None:
    """The bytes at an absolute path, links followed; empty for a directory, `None` for nothing."""
    files = (await world.state(at)).files
    for _ in range(MAX_LINKS):
        entry = files.get(path)
        if entry is None or entry.kind == "directory":
            return None if entry is None else b""
        if entry.kind != "symlink":
            try:
                return await world.read_file(path, at=at)
            except UsageError:
                return b""
        target = entry.content
        path = normal_path(target if target.startswith("/") else f"{parent_of(path)}/{target}")
    return None


async def _command_problem(world: World, goal: CommandGoal, at: WorldRef) -> str:
    fork = await world.fork(at=at)
    try:
        fork.add_tools([_RUN])
        turn = await fork.step(ToolCall(_RUN.name, {"command": goal.command}))
    finally:
        await fork.close()
        await off_loop(world.store, lambda: world.store.remove(fork.id))
    result = cast("dict[str, Any]", turn.observation.structured)
    if result["exit_code"] != goal.exit_code:
        said = _short(result["stderr"] or result["stdout"])
        return f"it exited with {result['exit_code']}, not {goal.exit_code}: {said}"
    stdout: str = result["stdout"]
    if goal.stdout_equals is not None and stdout != goal.stdout_equals:
        return f"it printed {_short(stdout)}"
    if goal.stdout_contains is not None and goal.stdout_contains not in stdout:
        return f"it printed {_short(stdout)}"
    return ""


def _short(text: str, width: int = 200) -> str:
    return repr(text if len(text) <= width else text[: width - 1] + "…")
