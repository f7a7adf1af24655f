"""The trained agents in a real shell: success there by success in the simulated one, on the same tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from agentworld_sim.errors import UsageError
from agentworld_trainers.pocket._agent_tasks import ShellTask, shell_tasks
from agentworld_trainers.recipes import load_recipe
from agentworld_trainers.rollouts import (
    ChatTokenizer,
    EpisodeRecord,
    RolloutEngine,
    RolloutSettings,
    Task,
    TurnTokens,
)
from bench.experiments.real_shell import RealShellTask, namespace_command

TEMPLATE = {"enable_thinking": False}


def measure_transfer(work: Path, *, real_shell: bool) -> list[dict[str, Any]]:
    """One row for each finished agent: which held-out tasks it solves on either side, without chance.

    Args:
        work: Where the runs are.
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
    part = load_recipe("pocket-agent").agent
    assert part is not None
    groups = shell_tasks(part.settings, load_recipe("pocket-agent").seed)
    tasks = groups["instances"] + groups["templates"]
    folders = [work / "base" / "sft" / "final", *sorted(work.glob("seed-*/*/agent/final"))]
    settings = RolloutSettings.of(part.rollouts, template=TEMPLATE)
    return [_row(work, folder, tasks, namespace, settings) for folder in folders]


def _row(
    work: Path,
    folder: Path,
    tasks: Sequence[ShellTask],
    namespace: list[str],
    settings: RolloutSettings,
) -> dict[str, Any]:
    simulated = played(folder, [task.task() for task in tasks], settings)
    real = played(folder, [RealShellTask(task, namespace) for task in tasks], settings)
    said = folder.relative_to(work).parts
    row = {
        "agent": "sft" if said[0] == "base" else "/".join(said[:2]),
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


def played(folder: Path, tasks: Sequence[Task], settings: RolloutSettings) -> list[EpisodeRecord]:
    """One episode of each task, taking the most probable token always."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from agentworld_trainers.rollouts.in_process import InProcessPolicy

    model = AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = cast("ChatTokenizer", AutoTokenizer.from_pretrained(folder))
    stops = TurnTokens(tokenizer, TEMPLATE).stop_ids
    policy = InProcessPolicy(model, stop_ids=stops, temperature=0.0)
    engine = RolloutEngine(policy, tokenizer, settings)
    return asyncio.run(engine.run(tasks, group_size=1, seed=0))


def _solved(record: EpisodeRecord) -> bool | None:
    return None if record.reward is None else record.reward == 1
