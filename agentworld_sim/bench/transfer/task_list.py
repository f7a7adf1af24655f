"""The tasks that are shipped, and tasks of a user's own."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from agentworld_sim.bench.transfer.task_values import DRAW
from agentworld_sim.bench.transfer.transfer_task import (
    PlanStep,
    TransferTask,
    put_in,
    shipped_document,
)
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.scenario import NothingElseGoal, RecordGoal, Scenario

SEEDS = 6
"""Tasks of each family."""

ARGUMENT = {"bash": "command", "browser_navigate": "url", "browser_click": "element"}
"""The argument that counts."""


def shipped_tasks(only: str = "") -> list[TransferTask]:
    """The tasks that are shipped, always the same.

    Args:
        only: A kind, a family or a task.

    Raises:
        UsageError: there is none of that name.
    """
    known = list(_tasks())
    found = [task for task in known if only in ("", task.kind, task.family, task.name)]
    if not found:
        names = list(dict.fromkeys(name for one in known for name in (one.kind, one.family)))
        raise UsageError(
            f"there is no task, family or kind {only!r}.{nearest(only, names)} Known: {', '.join(names)}."
        )
    return found


def own_tasks(path: Path) -> list[TransferTask]:
    """Tasks for a MCP server of one's own: a YAML file with a `scenario` and `tasks` as in `families.yaml`, by name.

    Raises:
        UsageError: the file cannot be read, or a task has what a server's SQLite file cannot show.
    """
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
        found = [
            _task(name, name, {"kind": "mcp", **said}, document["scenario"])
            for name, said in document["tasks"].items()
        ]
        tables = document["scenario"]["tables"].values()
    except (AttributeError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise UsageError(
            f"{path} has no `scenario` with `tables` and `tasks` with `instruction`, `goals`,"
            f" `content_dependent` and `plan`: {type(error).__name__} {error}."
        ) from None
    for task in found:
        scenario = Scenario.parse(json.dumps(task.document), source=f"{path}, task {task.name!r}")
        if not all(isinstance(goal, (RecordGoal, NothingElseGoal)) for goal in scenario.goals):
            raise UsageError(f"{path}: the goals of {task.name!r} must be about records.")
    if any(
        not one.keys() >= {"key", "fields", "records"} or one.get("generate") != 0 for one in tables
    ):
        raise UsageError(f"{path}: each table needs `key`, `fields`, `records`, and `generate: 0`.")
    return found


def _tasks() -> Iterator[TransferTask]:
    for family, written in shipped_document("families.yaml").items():
        for seed in range(SEEDS):
            name = f"{family}-{seed}"
            drawn = DRAW[family](random.Random(name))
            said = put_in(written, drawn)
            beginning = {**drawn, "contents": said.get("contents")}
            document = put_in(shipped_document(f"{said['kind']}.yaml"), beginning)
            yield _task(name, family, said, {"seed": seed, **document})


def _task(
    name: str, family: str, said: Mapping[str, Any], document: Mapping[str, Any]
) -> TransferTask:
    return TransferTask(
        name=name,
        family=family,
        kind=said["kind"],
        content_dependent=said["content_dependent"],
        document={
            "name": name,
            "instruction": said["instruction"],
            **document,
            "goals": said["goals"],
        },
        plan=tuple(map(_step, said["plan"])),
    )


def _step(written: Mapping[str, Any]) -> PlanStep:
    tool, *others = written
    more = {name: written[name] for name in others}
    if "careless" in more:
        more["careless"] = _arguments(tool, more["careless"])
    return PlanStep(tool, _arguments(tool, written[tool]), **more)


def _arguments(tool: str, said: Any) -> dict[str, Any]:
    return {ARGUMENT[tool]: said} if isinstance(said, str) else dict(said)
