"""The trained agents asked again: in a real shell, on the same tasks; and by chance, as they were trained."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import (
    ChatTokenizer,
    RolloutEngine,
    RolloutRecord,
    RolloutSettings,
    Task,
    TurnTokens,
)
from agentworld_trainers.recipes import load_recipe
from agentworld_trainers.stages import rollout_settings
from experiments.pocket import AGENT_RECIPE
from experiments.pocket.shell_tasks import ShellTask, shell_tasks
from experiments.prediction_before_action.real_shell import RealShellTask, namespace_command

TEMPLATE = {"enable_thinking": False}


def measure_transfer(
    work: Path, seed: int, runs: Sequence[int], *, real_shell: bool
) -> list[dict[str, Any]]:
    """One row for each finished agent: which held-out tasks it solves on either side, without chance.

    Args:
        work: Where the runs are.
        seed: Of the tasks.
        runs: Seeds of the runs whose agents are asked.
        real_shell: That what agents write may be run in a real shell.

    Raises:
        UsageError: it may not, or namespaces are not to be had.
    """
    if not real_shell:
        raise UsageError(
            "this runs what an agent writes in a real bash, in namespaces without network and without"
            " privileges. Say so with `--real-shell`."
        )
    namespace = namespace_command()
    tasks, settings = _asked(seed)
    return [_row(work, folder, tasks, namespace, settings) for folder in _agents(work, runs)]


def measure_sampled(work: Path, seed: int, runs: Sequence[int]) -> list[dict[str, Any]]:
    """One row for each finished agent: success of two rollouts of each held-out task, sampled at temperature
    1 as in training.

    Args:
        work: Where the runs are.
        seed: Of the tasks.
        runs: Seeds of the runs whose agents are asked.
    """
    tasks, settings = _asked(seed)
    rows: list[dict[str, Any]] = []
    for folder in _agents(work, runs):
        records = played(folder, [one.task() for one in tasks], settings, temperature=1.0, each=2)
        row: dict[str, Any] = {"agent": _name(work, folder)}
        for group in ("", "instances", "templates"):
            found = [one.reward for one in records if one.task.startswith(group)]
            judged = [reward for reward in found if reward is not None]
            row[group or "success"] = round(sum(judged) / len(judged), 4)
        rows.append(row)
        print(row, flush=True)
    return rows


def _asked(seed: int) -> tuple[list[ShellTask], RolloutSettings]:
    """The held-out tasks, and how they are played."""
    part = load_recipe(AGENT_RECIPE).agent
    assert part is not None
    groups = shell_tasks({**part.settings, "demonstrated": 0, "looks": 0, "sessions": 0}, seed)
    tasks = groups["instances"] + groups["templates"]
    return tasks, rollout_settings(part.rollouts, template=TEMPLATE)


def _agents(work: Path, runs: Sequence[int]) -> list[Path]:
    """The checkpoint that all arms begin with, and the finished agents."""
    found = (path for run in runs for path in sorted(work.glob(f"seed-{run}/*/agent/final")))
    return [work / "base" / "sft" / "final", *found]


def _name(work: Path, folder: Path) -> str:
    said = folder.relative_to(work).parts
    return "sft" if said[0] == "base" else "/".join(said[:2])


def _row(
    work: Path,
    folder: Path,
    tasks: Sequence[ShellTask],
    namespace: list[str],
    settings: RolloutSettings,
) -> dict[str, Any]:
    simulated = played(folder, [task.task() for task in tasks], settings)
    real = played(folder, [RealShellTask(task, namespace) for task in tasks], settings)
    row = {
        "agent": _name(work, folder),
        "tasks": len(tasks),
        "simulated": [_solved(one) for one in simulated],
        "real": [_solved(one) for one in real],
    }
    print(row["agent"], summary(row), flush=True)
    return row


def summary(row: dict[str, Any]) -> dict[str, float]:
    """Success on both sides, their ratio, and how often they agree about a task.

    Tasks in which one side could not answer are left out of all four.
    """
    pairs = [
        (simulated, real)
        for simulated, real in zip(row["simulated"], row["real"], strict=True)
        if simulated is not None and real is not None
    ]
    simulated = sum(one for one, _ in pairs) / len(pairs)
    real = sum(one for _, one in pairs) / len(pairs)
    return {
        "judged": len(pairs),
        "simulated": simulated,
        "real": real,
        "ratio": real / simulated if simulated else float("nan"),
        "agreement": sum(one == other for one, other in pairs) / len(pairs),
    }


def played(
    folder: Path,
    tasks: Sequence[Task],
    settings: RolloutSettings,
    *,
    temperature: float = 0.0,
    each: int = 1,
) -> list[RolloutRecord]:
    """So many rollouts of each task; without a temperature, always the most probable token."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from agentworld_trainers.in_process_policy import InProcessPolicy

    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = cast("ChatTokenizer", AutoTokenizer.from_pretrained(folder))
    stops = TurnTokens(tokenizer, TEMPLATE).stop_ids
    policy = InProcessPolicy(model, stop_ids=stops, temperature=temperature)
    engine = RolloutEngine(policy, tokenizer, settings)
    return asyncio.run(engine.run(tasks, group_size=each, seed=0))


def _solved(record: RolloutRecord) -> bool | None:
    return None if record.reward is None else record.reward == 1
