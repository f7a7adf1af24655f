"""Does predicting observations before acting help a small agent? Arms, seeds, raw numbers, a plot.

    python -m experiments.prediction_before_action run --seeds 0 1 2 3 4
    python -m experiments.prediction_before_action sampled
    python -m experiments.prediction_before_action transfer --real-shell
    python -m experiments.prediction_before_action report

All arms begin with one checkpoint of the recipe `pocket-agent`, made by its stages `data`, `cpt` and `sft`
with seed 1; the settings were chosen on seed 0, with other tasks. A run that was killed is taken up where
it was; several processes may do different seeds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agentworld_sim.rollouts import read_rollouts
from agentworld_trainers.recipes import Recipe, load_recipe
from agentworld_trainers.stages import (
    Run,
    make_data,
    read_metrics,
    train_agent,
    train_cpt,
    train_rl,
    train_sft,
)
from experiments.pocket import AGENT_RECIPE

START_SEED: Final = 1
"""Of the checkpoint that all arms begin with, and of all tasks."""
HERE: Final = Path(__file__).resolve().parents[2]
RESULTS: Final = HERE / "docs" / "experiments" / "prediction-before-action"
MEASURES: Final = ("success", "instances", "templates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to train the agent."""

    title: str
    overrides: tuple[str, ...] = ()
    warm_up: bool = False


ARMS: Final[Mapping[str, Arm]] = {
    "direct": Arm(title="agent GSPO"),
    "warm-up": Arm(
        title="prediction GSPO, then agent GSPO",
        # The warm-up has taken the tokens of the steps that are missing.
        overrides=("agent.steps=104", "agent.measure_every=52"),
        warm_up=True,
    ),
    "auxiliary": Arm(
        title="agent GSPO with the loss on environment tokens",
        overrides=("agent.prediction_loss=0.05",),
    ),
}
"""By name; the first one is what the others are compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Held-out success after so many tokens of reinforcement learning."""

    stage: str
    step: int
    tokens: int
    """Of all rollouts so far, prompts and environment included; the warm-up's too."""
    success: float
    instances: float
    templates: float


def base(work: Path) -> Path:
    """The checkpoint that all arms begin with."""
    recipe = load_recipe(AGENT_RECIPE, overrides=[f"output={work / 'base'}", f"seed={START_SEED}"])
    run = Run(recipe)
    make_data(recipe, run)
    train_cpt(recipe, run)
    return train_sft(recipe, run)


def train(work: Path, seed: int, name: str, start: Path) -> Path:
    """Trains one arm with one seed."""
    arm = ARMS[name]
    folder = work / f"seed-{seed}" / name
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "data"
    if not data.exists():
        data.symlink_to((work / "base" / "data").resolve())
    recipe = load_recipe(
        AGENT_RECIPE,
        overrides=[f"output={folder}", f"seed={seed}", f"model.path={start}", *arm.overrides],
    )
    # The tasks are those of the checkpoint's data, whatever the seed.
    recipe = _with_tasks_of(recipe, START_SEED)
    run = Run(recipe)
    if arm.warm_up:
        train_rl(recipe, run)
    return train_agent(recipe, run)


def _with_tasks_of(recipe: Recipe, seed: int) -> Recipe:
    assert recipe.agent is not None
    settings = {**recipe.agent.settings, "seed": seed}
    return recipe.model_copy(
        update={"agent": recipe.agent.model_copy(update={"settings": settings})}
    )


def points_of(folder: Path) -> list[Point]:
    """What was measured in one run, over the tokens that it had cost until then."""
    before, points = 0, list[Point]()
    for stage in ("rl", "agent"):
        costs = sorted(_costs(folder / stage / "rollouts"))
        if stage == "agent":
            points = [
                Point(
                    stage=stage,
                    step=line["step"],
                    tokens=before + sum(tokens for step, tokens in costs if step < line["step"]),
                    **{name: round(line[f"held_out/{name}"], 4) for name in MEASURES},
                )
                for line in read_metrics(folder / stage / "metrics.jsonl")
                if "held_out/success" in line
            ]
        before += sum(tokens for _, tokens in costs)
    return points


def _costs(rollouts: Path) -> Iterator[tuple[int, int]]:
    """Tokens by the step whose weights played."""
    for path in rollouts.glob("step-*.jsonl"):
        records = read_rollouts(path)
        tokens = sum(len(one.prompt_ids) + len(one.response_ids) for one in records)
        yield int(path.stem.removeprefix("step-")), tokens


def predictions_of(folder: Path) -> dict[str, float]:
    """Held-out prediction accuracy before and after the warm-up."""
    lines = [
        line for line in read_metrics(folder / "rl" / "metrics.jsonl") if "held_out/exact" in line
    ]
    return {
        when: round(line["held_out/exact"], 4)
        for when, line in zip(("before", "after"), lines[:1] + lines[-1:], strict=False)
    }


def collect(work: Path) -> list[dict[str, Any]]:
    """The raw numbers of all finished runs."""
    runs: list[dict[str, Any]] = []
    for folder in sorted(work.glob("seed-*/*")):
        if not (folder / "agent" / "final").is_dir():
            continue
        run: dict[str, Any] = {
            "seed": int(folder.parent.name.removeprefix("seed-")),
            "arm": folder.name,
            "points": [asdict(point) for point in points_of(folder)],
        }
        if ARMS[folder.name].warm_up:
            run["prediction_exact"] = predictions_of(folder)
        runs.append(run)
    return runs


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("base", "run", "sampled", "transfer", "report"))
    parser.add_argument("--work", type=Path, default=Path("runs") / "prediction-before-action")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    parser.add_argument("--arms", nargs="*", choices=list(ARMS), default=list(ARMS))
    parser.add_argument(
        "--real-shell",
        action="store_true",
        help="run what agents write in this machine's bash, inside namespaces of its own",
    )
    chosen = parser.parse_args(arguments)
    if chosen.what in ("base", "run"):
        start = base(chosen.work)
        for seed in chosen.seeds if chosen.what == "run" else ():
            for name in chosen.arms:
                print(f"seed {seed}, {name}: {train(chosen.work, seed, name, start)}", flush=True)
    elif chosen.what == "sampled":
        from experiments.prediction_before_action.transfer import measure_sampled

        write_json(RESULTS / "sampled.json", measure_sampled(chosen.work, START_SEED, chosen.seeds))
    elif chosen.what == "transfer":
        from experiments.prediction_before_action.transfer import measure_transfer

        rows = measure_transfer(chosen.work, START_SEED, chosen.seeds, real_shell=chosen.real_shell)
        write_json(RESULTS / "transfer.json", rows)
    else:
        from experiments.prediction_before_action.report import write_report

        runs = collect(chosen.work)
        write_json(RESULTS / "results.json", runs)
        write_report(RESULTS, {name: arm.title for name, arm in ARMS.items()})


def write_json(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """One row per line: a person can read it, and a difference of two versions is small."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
