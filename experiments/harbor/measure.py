"""How many public tasks load as worlds, and whether their verdicts are right: nothing done fails, the task's own
solution passes.

    python experiments/harbor/measure.py NAME=FOLDER… --out results.json

Each FOLDER holds folders of tasks (`task.toml` or `task.yaml`), at any depth. Nothing of a task is written but its
name, its verdicts, and the reason why it was refused.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import collections
import json
import random
import re
import time
from pathlib import Path
from typing import Any

from agentworld_sim.errors import AgentworldError
from agentworld_sim.goals import check_goals
from agentworld_sim.scenario import Base64File, Scenario
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.world import World

RUN = ToolSpec(name="run", binds_to="shell/run")


def solution(task: Path) -> tuple[str, dict[str, Base64File]]:
    """The command that solves a task, and its files; none where the task has no solution."""
    example = task / "tests" / ".meta" / "example.py"
    if example.is_file():
        # Aider's tasks have their solution encrypted, and once more in the open.
        (stub,) = (task / "workspace").glob("*.py")
        paths, command = [example], f"cp /oracle/tests/.meta/example.py /app/{stub.name}"
    elif (task / "solution.sh").is_file():
        paths, command = [task / "solution.sh"], "bash /oracle/solution.sh"
    else:
        paths = [path for path in (task / "solution").rglob("*") if path.is_file()]
        command = "bash /solution/solve.sh"
    folder = "/oracle" if "/oracle/" in command else "/solution"
    base = task if folder == "/oracle" else task / "solution"
    return command, {
        f"{folder}/{path.relative_to(base)}": Base64File.model_validate(
            {"base64": base64.b64encode(path.read_bytes()).decode(), "mode": "0755"}
        )
        for path in paths
    }


async def verdict(scenario: Scenario, command: str = "") -> dict[str, Any]:
    """Whether the goal is met after a command, what the command said, and the seconds."""
    began = time.perf_counter()
    async with await World.create(scenario, model=False) as world:
        said = ""
        if command:
            world.add_tools([RUN])
            turn = await world.step(ToolCall(RUN.name, {"command": command}))
            found: Any = turn.observation.structured
            if found["exit_code"]:
                said = f"{found['exit_code']}: {(found['stderr'] or found['stdout'])[-200:]}"
        (result,) = await check_goals(world)
    seconds = round(time.perf_counter() - began, 2)
    reason = "" if result.met else result.reason[-240:]
    return {
        "met": result.met,
        "seconds": seconds,
        **({"solution": said} if said else {}),
        "reason": reason,
    }


async def measured(task: Path) -> dict[str, Any]:
    """What became of one task."""
    try:
        scenario = Scenario.load(task)
        found: dict[str, Any] = {"nothing": await verdict(scenario)}
        command, files = solution(task)
        if files:
            solved = scenario.model_copy(update={"files": {**scenario.files, **files}})
            found["solved"] = await verdict(solved, command)
    except AgentworldError as error:
        return {
            "refused": re.sub(
                r"\S*/(?=Dockerfile|task\.)", "", str(error).replace(str(task), "TASK")
            )[:300]
        }
    return found


def summary(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Counts of one set of tasks."""
    loaded = {name: one for name, one in found.items() if "refused" not in one}
    solved = [one for one in loaded.values() if "solved" in one]
    kinds = collections.Counter(kind(one["refused"]) for one in found.values() if "refused" in one)
    seconds = sorted(one["nothing"]["seconds"] for one in loaded.values())
    return {
        "tasks": len(found),
        "loaded": len(loaded),
        "nothing done fails": sum(not one["nothing"]["met"] for one in loaded.values()),
        "with a solution": len(solved),
        "solution passes": sum(one["solved"]["met"] for one in solved),
        "both right": sum(one["solved"]["met"] and not one["nothing"]["met"] for one in solved),
        "median seconds of a verdict": seconds[len(seconds) // 2] if seconds else None,
        "refused": dict(kinds.most_common(12)),
    }


def kind(refusal: str) -> str:
    """A refusal without what is special to its task."""
    for mark in (
        "it needs",
        "RUN ended",
        "the image",
        "several steps",
        "services",
        "is not in",
        "wheel",
    ):
        if mark in refusal:
            return mark
    return refusal[:60]


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--most", type=int, default=10_000, help="tasks of each set, drawn by chance"
    )
    parser.add_argument("--seconds", type=float, default=1e9, help="stop a set after so long")
    options = parser.parse_args()
    results: dict[str, Any] = json.loads(options.out.read_text()) if options.out.exists() else {}
    for one in options.sets:
        name, _, folder = one.partition("=")
        tasks = sorted(
            {path.parent for end in ("toml", "yaml") for path in Path(folder).rglob(f"task.{end}")}
        )
        random.Random(19).shuffle(tasks)
        found: dict[str, dict[str, Any]] = {}
        began = time.perf_counter()
        for task in tasks[: options.most]:
            if time.perf_counter() - began > options.seconds:
                break
            found[str(task.relative_to(folder))] = await measured(task)
        results[name] = {"summary": summary(found), "tasks": dict(sorted(found.items()))}
        print(name, json.dumps(results[name]["summary"], indent=1))
        options.out.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


asyncio.run(main())
