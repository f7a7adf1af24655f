"""`agentworld bench` over rows in AgentWorldBench form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentworld_sim.cli.command_options import (
    COUNT,
    EXISTING_FILE,
    EXISTING_FOLDER,
    ModelChoice,
    asynchronous,
    json_option,
    model_options,
    with_options,
)
from agentworld_sim.cli.terminal_output import print_table, progress_bar
from agentworld_sim.errors import ModelFailure, UnusableReply, UsageError

if TYPE_CHECKING:
    from agentworld_sim.bench.agentworldbench import Predictor
    from agentworld_sim.bench.row_scores import JudgedRun
    from agentworld_sim.scoring import BenchRow

F = TypeVar("F", bound=Callable[..., Any])


def spending_options(command: F) -> F:
    """`--concurrency`, `--budget` and `--price`."""
    return with_options(
        command,
        click.option(
            "--concurrency", type=COUNT, default=64, show_default=True, help="Requests at a time."
        ),
        click.option(
            "--budget",
            metavar="AMOUNT",
            help="Most that may be paid: '1000 requests', '2e6 tokens' or '20 USD'.",
        ),
        click.option(
            "--price",
            type=float,
            nargs=2,
            metavar="IN OUT",
            help="US dollars for a million tokens of prompts and of replies.",
        ),
    )


async def run_rows(
    files: Sequence[Path],
    output: Path,
    *,
    most: int | None,
    seed: int,
    model_choice: ModelChoice,
    scenario: str | None,
    recorded: bool,
    history: str,
    address: str | None,
    concurrency: int,
    budget: str | None,
    price: tuple[float, float] | None,
) -> None:
    """Has rows predicted by a served model, a world, or as they bring it."""
    import random

    from agentworld_sim.bench.agentworldbench import (
        ModelPredictor,
        WorldPredictor,
        predict_rows,
        recorded_prediction,
    )
    from agentworld_sim.bench.row_runs import Budget, read_run
    from agentworld_sim.bench.run import settings_of
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.types.refs import hash_ref

    spending = Budget(budget, price)
    rows, problems = _rows(files)
    if most is not None and most < len(rows):
        drawn = set(random.Random(seed).sample(sorted(rows), most))
        rows = {key: row for key, row in rows.items() if key in drawn}
    model = None if recorded else model_choice.find()
    about: dict[str, Any] = {
        "split": ", ".join(sorted({path.stem.rpartition("_")[2] for path in files})),
        "seed": seed,
        "history": history == "on",
        "most": most,
        "asked": dict(sorted(Counter(row.domain for row in rows.values()).items())),
        "left out": problems,
    }
    predict: Predictor
    if recorded:
        about |= {"engine": "recorded"}
        predict = recorded_prediction
    elif scenario:
        known = Scenario.load(scenario)
        about |= {"engine": "hybrid" if model else "computed"}
        about |= {"scenario": hash_ref("scenario", known.model_dump(mode="json"))[:12]}
        about |= settings_of(model) if model else {}
        predict = WorldPredictor(known, model or False, seed)
    else:
        settings = model_choice.require().settings
        model = WorldModel(replace(settings, concurrency=concurrency))
        name = (await model.client.served_model()).name
        about = {**settings_of(model), **about, "engine": "model", "model": name}
        about |= {"prompts": "of the rows"}
        predict = ModelPredictor(model, history == "on", seed)
    try:
        async with AsyncExitStack() as stack:
            if address is not None:
                from agentworld_sim.bench.ray_cluster import on_ray

                predict, _ = await stack.enter_async_context(on_ray(predict, address=address))
            await predict_rows(
                rows,
                predict,
                output,
                about=about,
                concurrency=concurrency,
                budget=spending,
                on_row=stack.enter_context(progress_bar("rows", len(rows), spending)),
            )
    finally:
        if model:
            await model.close()
    done = read_run(output).predicted.values()
    failures = Counter(one.prediction.failed for one in done if one.prediction.failed)
    reasons = (f", {count:,} failed: {why.rstrip('.')}" for why, count in failures.most_common(3))
    click.echo(
        f"{output}: {len(done):,} rows{''.join(reasons)}. `agentworld bench judge {output} …` rates them."
    )


@click.command()
@click.argument("run_file", type=EXISTING_FILE, metavar="RUN")
@click.argument("files", nargs=-1, required=True, type=EXISTING_FILE, metavar="ROWS...")
@click.option("--judge-url", required=True, metavar="URL", help="Where the judge is served.")
@click.option("--judge", "name", metavar="NAME", help="The judge's name as served.")
@click.option(
    "--official-prompts",
    type=EXISTING_FOLDER,
    metavar="DIR",
    help="The folder `prompts` of a checkout of the official repository: the judge is asked what its script asks.",
)
@click.option("--max-tokens", type=COUNT, help="Most tokens of one judgement.")
@click.option("--temperature", type=click.FloatRange(0, 2), help="Of the judge; 0.6 by default.")
@spending_options
@asynchronous
async def judge(
    run_file: Path,
    files: Sequence[Path],
    judge_url: str,
    name: str | None,
    official_prompts: Path | None,
    max_tokens: int | None,
    temperature: float | None,
    concurrency: int,
    budget: str | None,
    price: tuple[float, float] | None,
) -> None:
    """Have a judge rate the predictions of a run, into the run's own file.

    Its key is taken from AGENTWORLD_API_KEY. What it said to an equal question is not asked again, unless it cannot
    be read.
    """
    from agentworld_sim.bench.agentworldbench import ATTEMPTS, judge_rows
    from agentworld_sim.bench.row_runs import Budget
    from agentworld_sim.llm.client import ChatClient
    from agentworld_sim.llm.settings import MODEL_VARIABLE, URL_VARIABLE, ModelSettings
    from agentworld_sim.scoring.official_form import JudgePrompts

    spending = Budget(budget, price)
    settings = ModelSettings.find(
        url=judge_url,
        model=name,
        max_tokens=max_tokens,
        temperature=temperature,
        concurrency=concurrency,
    )
    assert settings is not None
    prompts, client = JudgePrompts.load(official_prompts, settings), ChatClient(settings)
    rows, _ = _rows(files)
    try:
        about = {
            "model": (await client.served_model()).name,
            "prompts": prompts.version,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
        }
        with progress_bar("judgements", len(rows), spending) as count:
            unreadable, replies = await judge_rows(
                rows, client, prompts, run_file, about=about, budget=spending, on_row=count
            )
    except ModelFailure as failure:
        text = str(failure).replace(URL_VARIABLE, "--judge-url")
        failure.args = (text.replace(MODEL_VARIABLE, "--judge"),)
        raise
    finally:
        await client.close()
    told = f"{run_file}: {unreadable:,} of {replies:,} replies of the judge {about['model']} cannot be read."
    if unreadable:
        told += f" Given again, it asks for rows without ratings up to {ATTEMPTS} times more."
    if unreadable == replies > 0:
        raise UnusableReply(told)
    click.echo(f"{told} `agentworld bench score {run_file}` says more.")


@click.command()
@click.argument("run_files", nargs=-1, required=True, type=EXISTING_FILE, metavar="RUN...")
@json_option
def score(run_files: Sequence[Path], as_json: bool) -> None:
    """Score what judges have said, and ask nothing. Several files are parts of one run.

    Parts that differ in model, judge, prompts, split or seed are refused.
    """
    from agentworld_sim.bench.row_scores import merge

    by_judge: dict[str, dict[str, JudgedRun]] = {}
    for path in run_files:
        for label, one in columns_of([path]).items():
            by_judge.setdefault(label.partition(" by ")[2], {})[str(path)] = one
    if any(len(parts) < len(run_files) for parts in by_judge.values()):
        told = ", ".join(f"{name}: {', '.join(parts)}" for name, parts in by_judge.items())
        raise UsageError(f"the files have not been rated by the same judges ({told}).")
    show({name: merge(parts) for name, parts in by_judge.items()}, as_json=as_json)


def columns_of(run_files: Sequence[Path]) -> dict[str, JudgedRun]:
    """Runs as their judges rated them, by names of both."""
    from agentworld_sim.bench.row_runs import read_run
    from agentworld_sim.bench.row_scores import judged_runs

    found: dict[str, JudgedRun] = {}
    for name, path in by_name(run_files).items():
        runs = judged_runs(read_run(path))
        for one in runs:
            label, about = f"{name} by {one.about['judge model']}", one.about
            # The same judge may have been asked in several ways.
            alike = [two.about for two in runs if two.about["judge model"] == about["judge model"]]
            for setting, value in about.items():
                if any(other[setting] != value for other in alike):
                    label += f", {setting.removeprefix('judge ')} {value}"
            found[label] = one
    return found


def by_name(paths: Sequence[Path]) -> dict[str, Path]:
    """Files by their names, or by their paths where names are equal."""
    names = {path.stem: path for path in paths}
    return names if len(names) == len(paths) else {str(path): path for path in paths}


def show(columns: Mapping[str, JudgedRun], *, as_json: bool) -> None:
    """Prints what runs come to."""
    from agentworld_sim.bench.row_scores import lines_of, summary

    told = {name: summary(one) for name, one in columns.items()}
    if as_json:
        click.echo(json.dumps(told))
        return
    print_table(["percent", *columns], lines_of(list(told.values())))
    for name, one in told.items():
        for command, left in (("run", "not predicted yet"), ("judge", "not judged yet")):
            if count := one["failures"].get(left):
                text = f"{name}: {count:,} rows are {left}, and in no mean; `agentworld bench {command}`, given again, goes on with them."
                click.echo(text, err=True)


def report_rows(run_files: Sequence[Path], output: Path | None, *, as_json: bool) -> None:
    """Shows runs over rows side by side: printed, or as a page or Markdown."""
    from agentworld_sim.cassette.file import write_file
    from agentworld_sim.report.bench_page import bench_markdown, bench_page

    columns = columns_of(run_files)
    if output is None:
        show(columns, as_json=as_json)
        return
    if output.suffix not in (".html", ".md"):
        raise UsageError(f"a report is written as .html or .md, not as {output.name!r}.")
    write = bench_page if output.suffix == ".html" else bench_markdown
    write_file(output, write(columns))
    click.echo(output)


@click.command()
@click.argument("scenario")
@click.argument("actions", type=EXISTING_FILE)
@click.option("--repeats", type=click.IntRange(min=2), default=10, show_default=True)
@json_option
@model_options
@asynchronous
async def luck(
    scenario: str, actions: Path, repeats: int, as_json: bool, model_choice: ModelChoice
) -> None:
    """Repeat the same actions, and show how far their reward spreads: an engine's luck.

    ACTIONS has a call in each line, {"name": …, "arguments": {…}}; SCENARIO has the goals that make the reward.
    """
    from agentworld_sim.bench.luck import read_calls, rewards_of
    from agentworld_sim.scenario import Scenario

    known, calls, model = Scenario.load(scenario), read_calls(actions), model_choice.find()
    told: dict[str, Any] = {}
    for name in ("computed", "hybrid") if model else ("computed",):
        settings = model.settings if model and name == "hybrid" else False
        rewards = await rewards_of(known, calls, settings, repeats)
        told[name] = {"rewards": rewards, "mean": fmean(rewards), "spread": pstdev(rewards)}
    if as_json:
        click.echo(json.dumps(told))
        return
    for name, one in told.items():
        rewards = ", ".join(f"{reward:.3g}" for reward in one["rewards"])
        click.echo(
            f"{name}: mean {one['mean']:.3f}, standard deviation {one['spread']:.3f} ({rewards})"
        )


def _rows(files: Sequence[Path]) -> tuple[dict[str, BenchRow], list[str]]:
    """Rows of files, each line that is none told.

    Raises:
        UsageError: there are none.
    """
    from agentworld_sim.bench.row_runs import read_rows

    rows, problems = read_rows(files)
    for problem in problems:
        click.echo(f"left out: {problem}", err=True)
    if not rows:
        raise UsageError(f"there is no usable row in {', '.join(map(str, files))}.")
    return rows, problems
