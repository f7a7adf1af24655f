"""`agentworld train eval`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentworld_sim.errors import UsageError
from agentworld_sim.extras import require
from agentworld_trainers._command._errors import boundary

if TYPE_CHECKING:
    from agentworld_trainers.recipes import Recipe

MAX_TOKENS = 1024
"""Of an answer, where no recipe says."""


@click.command("eval")
@click.argument("checkpoint")
@click.argument("what", required=False, metavar="[RECIPE|SAMPLES]")
@click.option(
    "--url",
    help="Ask this OpenAI-compatible server; CHECKPOINT is then the model's name there.",
)
@click.option(
    "--thinking/--no-thinking", default=None, help="Think first; by default as the recipe says."
)
@click.option("--max-tokens", type=click.IntRange(min=1), help="Of an answer, thinking included.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N samples.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write every answer and all scores there, as JSON.",
)
def evaluate(
    checkpoint: str,
    what: str | None,
    url: str | None,
    thinking: bool | None,
    max_tokens: int | None,
    limit: int | None,
    out: Path | None,
) -> None:
    """Measure how well a checkpoint predicts held-out observations.

    CHECKPOINT is a folder (any stage's final/ or checkpoint-N/). SAMPLES is a file of samples (JSON
    Lines); by default it is data/eval.jsonl of the run that the checkpoint, or the recipe, belongs to. The
    most probable token is taken always, so the same checkpoint gives the same figures.

    \b
      agentworld train eval runs/one-gpu/sft/final
      agentworld train eval runs/one-gpu/rl/checkpoint-20 --limit 50
      agentworld train eval Qwen/Qwen-AgentWorld-35B-A3B samples.jsonl --url http://127.0.0.1:8000/v1
    """
    from agentworld_sim.scoring import PredictionSample
    from agentworld_trainers.data._rows import read_rows

    if url is None:
        require("torch", extra="train")
    path, recipe = _samples(checkpoint, what)
    if max_tokens is None:
        rl = recipe.rl if recipe else None
        max_tokens = rl.rollouts.max_turn_tokens if rl else MAX_TOKENS
    if thinking is None:
        thinking = recipe.sft.thinking if recipe and recipe.sft else True
    if out is not None:
        # Said before the answers are sampled, not after.
        _verify_writable(out)
    samples = list(islice(read_rows(path, PredictionSample), limit))
    with boundary():
        from agentworld_trainers.stages import evaluate as measured
        from agentworld_trainers.stages._progress import progress

        with progress(len(samples), "samples") as told:
            report = measured(
                url or checkpoint,
                samples,
                thinking=thinking,
                max_tokens=max_tokens,
                served_as=checkpoint if url else "",
                told=told.step,
            )
    if out is not None:
        report.write(out)
    click.echo(report.table())


def _samples(checkpoint: str, what: str | None) -> tuple[Path, Recipe | None]:
    """The file of samples, and the recipe they belong to, if one is known."""
    from agentworld_trainers.recipes import load_recipe

    if what is not None and (what.endswith(".jsonl") or Path(what).suffix == ".json"):
        return Path(what), _recipe_near(Path(checkpoint))
    if what is not None:
        recipe = load_recipe(what)
        folder = Path(recipe.output or Path("runs") / recipe.name)
        path = folder / "data" / "eval.jsonl"
        if not path.is_file():
            raise UsageError(
                f"there is no {str(path)!r}. Make the recipe's data first"
                f" (`agentworld train data {what}`), or name a file of samples (*.jsonl)."
            )
        return path, recipe
    run = Path(checkpoint)
    if (run / "data" / "eval.jsonl").is_file():
        there = sorted(one.parent for one in run.glob("*/*/config.json"))
        raise UsageError(
            f"{checkpoint!r} is the folder of a run. Name a checkpoint in it:"
            f" {', '.join(map(str, there)) or 'there is none yet'}."
        )
    for folder in run.absolute().parents:
        if (folder / "data" / "eval.jsonl").is_file():
            return folder / "data" / "eval.jsonl", _recipe_near(Path(checkpoint))
    raise UsageError(
        f"{checkpoint!r} is in no folder of a run with data/eval.jsonl. Name samples or a recipe:"
        f" `agentworld train eval {checkpoint} SAMPLES.jsonl`."
    )


def _verify_writable(out: Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = out.with_name(out.name + ".partial")
        partial.touch()
        partial.unlink()
    except OSError as error:
        raise UsageError(
            f"--out: nothing can be written to {str(out)!r}: {error.strerror}."
        ) from error


def _recipe_near(checkpoint: Path) -> Recipe | None:
    """What the stage was told that made the checkpoint."""
    from agentworld_trainers.recipes import load_recipe

    file = checkpoint.absolute().parent / "recipe.toml"
    return load_recipe(file) if file.is_file() else None
