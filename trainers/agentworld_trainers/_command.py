"""`agentworld train`. Nothing here loads torch before a stage begins."""

from __future__ import annotations

import errno
import os
import warnings
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.extras import require
from agentworld_sim.plain_text import text_table

if TYPE_CHECKING:
    from agentworld_sim.rollouts import RolloutRecord
    from agentworld_trainers.recipes import Recipe

STAGES = ("cpt", "sft", "rl", "agent")


@click.group()
def train() -> None:
    """Train world models, and agents in worlds.

    A recipe is a TOML file or the name of a shipped one; `key=value` changes it. Stages find what earlier
    ones made in the recipe's folder of results (`runs/NAME`), and a stage that was stopped is taken up
    where it was by the same command.

    \b
      agentworld train recipes                             what is shipped
      agentworld train all one-gpu                         data, cpt, sft, rl: one after the other
      agentworld train rl one-gpu rl.steps=50 model.lora.rank=8
      agentworld train all qwen-agentworld-35b --dry-run   memory and tokens, no weights
      agentworld train show runs/one-gpu                   what is there
      agentworld train eval runs/one-gpu/rl/final          how good it is
    """


# ---------------------------------------------------------------------- stages


FUNCTIONS = {
    "data": "make_data",
    "cpt": "train_cpt",
    "sft": "train_sft",
    "rl": "train_rl",
    "agent": "train_agent",
}
"""Of `agentworld_trainers.stages`, in the order in which stages follow each other."""

_HELP = {
    "data": "Make a recipe's data: samples, filters, masks, tokenizer.",
    "cpt": "Continue pre-training on whole trajectories, with turn-level loss masking.",
    "sft": "Fine-tune on single predictions (or demonstrations), with thinking.",
    "rl": "Train predictions with GSPO.",
    "agent": "Train an agent in worlds with GSPO.",
    "all": "Run all stages of a recipe, in order.",
}

_MORE = """
\b
RECIPE is a TOML file or the name of a shipped recipe (`agentworld train recipes`).
CHANGES are key=value with dotted keys: rl.learning_rate=1e-5 model.lora.rank=8. A value is TOML, a bare
word is text, and an empty one (model.lora=) takes the key out.
"""


def _stage_command(name: str) -> click.Command:
    @click.command(name, help=_HELP[name] + "\n" + _MORE, short_help=_HELP[name])
    @click.argument("recipe")
    @click.argument("changes", nargs=-1, metavar="[KEY=VALUE]...")
    @click.option("--output", metavar="DIR", help="Folder of all results; `runs/NAME` by default.")
    @click.option(
        "--fresh",
        is_flag=True,
        help="Begin anew. What is there is kept under another name; without this, it is taken up.",
    )
    @click.option(
        "--dry-run", is_flag=True, help="Print memory and token budgets; loads no weights."
    )
    def command(
        recipe: str, changes: tuple[str, ...], output: str | None, fresh: bool, dry_run: bool
    ) -> None:
        from agentworld_trainers.recipes import load_recipe

        loaded = load_recipe(recipe, changes)
        if output is not None:
            loaded = loaded.model_copy(update={"output": output})
        stages = stages_named(loaded, name)
        if dry_run:
            _print_plan(loaded, stages)
        else:
            _run(loaded, stages, fresh=fresh)

    return command


for _name in (*FUNCTIONS, "all"):
    train.add_command(_stage_command(_name))


def stages_named(recipe: Recipe, asked: str) -> list[str]:
    there = ["data", *(name for name in STAGES if getattr(recipe, name))]
    if asked == "all":
        return there
    if asked not in there:
        raise UsageError(
            f"the recipe {recipe.name!r} has no table [{asked}]. It has: {', '.join(there)}."
        )
    return [asked]


def _print_plan(recipe: Recipe, stages: list[str]) -> None:
    require("torch", extra="train")
    with boundary(recipe):
        from agentworld_trainers.stages._budget import report
        from agentworld_trainers.stages._dry_run import dry_run

        # The data stage builds no model: what it makes is for all that follow.
        plan = dry_run(recipe, None if stages == ["data"] else stages)
        for line in report(plan):
            click.echo(line)


def _run(recipe: Recipe, stages: list[str], *, fresh: bool) -> None:
    if stages != ["data"]:
        # Said before the data are made, not after.
        require("torch", extra="train")
    with boundary(recipe), warnings.catch_warnings():
        # TRL 1.16 uses names that transformers 5.23 calls deprecated; nobody who trains can do anything.
        warnings.filterwarnings("ignore", r"`(is_)?gradient_checkpointing", FutureWarning)
        from agentworld_trainers.stages import Run

        run = Run(recipe, fresh=fresh)
        for name in stages:
            function: Any = getattr(import_module("agentworld_trainers.stages"), FUNCTIONS[name])
            function(recipe, run)
            # Of several processes of one training run, the first one speaks.
            if os.environ.get("RANK", "0") == "0":
                click.echo(f"{name}: done, in {run.folder / name}", err=True)


# ---------------------------------------------------------------------- what goes wrong

PACKAGES = (
    "accelerate",
    "datasets",
    "matplotlib",
    "peft",
    "safetensors",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
)
"""What the extra `train` brings, also by way of others."""


@contextmanager
def boundary(recipe: Recipe | None = None) -> Generator[None]:
    """Turns a missing package, a full disk, a full GPU and Ctrl-C into what a user can act on."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        raise UsageError(
            f"this needs the package {package!r}, which is not installed. Install it with"
            " `pip install 'agentworld-sim[train]'`."
        ) from None
    except KeyboardInterrupt:
        click.echo(f"\nstopped. {_kept_note(recipe)}", err=True)
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise WorldFailure(
                f"the disk is full ({error.filename}). {_kept_note(recipe)}"
            ) from error
        if error.filename is None:
            raise
        raise WorldFailure(f"{error.filename!r}: {error.strerror}. {_kept_note(recipe)}") from error
    except RuntimeError as error:
        # torch has an exception of its own for GPUs, and none for the machine's memory.
        on_gpu = type(error).__name__ == "OutOfMemoryError"
        if not on_gpu and "can't allocate memory" not in str(error):
            raise
        whose = "the GPU's" if on_gpu else "this machine's"
        raise UsageError(
            f"{whose} memory does not hold this. Lower `micro_batch_size` or the longest row, or set"
            f" `gradient_checkpointing = true`; `--dry-run` says what takes how much. {_kept_note(recipe)}"
        ) from error


def _kept_note(recipe: Recipe | None) -> str:
    if recipe is None:
        return ""
    folder = Path(recipe.output or Path("runs") / recipe.name)
    points = sorted(folder.glob("*/checkpoint-*"), key=lambda path: path.stat().st_mtime)
    good = [path for path in points if path.name.removeprefix("checkpoint-").isdigit()]
    state = f"The last good state is {good[-1]}. " if good else ""
    return f"{state}The same command goes on from there; --fresh begins anew."


# ---------------------------------------------------------------------- measuring

MAX_TOKENS = 1024
"""Of an answer, where no recipe says."""


@train.command("eval")
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


# ---------------------------------------------------------------------- showing

GLANCE = ("loss", "accuracy", "reward", "groups/live", "held_out/exact", "held_out/success")
"""Metrics that say at a glance whether a stage works."""


@train.command()
def recipes() -> None:
    """List the shipped recipes."""
    from agentworld_trainers.recipes import load_recipe, shipped_recipes

    rows = [(name, load_recipe(name).description) for name in shipped_recipes()]
    click.echo("\n".join(text_table(rows)))


@train.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--rollouts",
    type=click.IntRange(min=1),
    metavar="N",
    help="List the last N rollouts, too.",
)
def show(run: Path, rollouts: int | None) -> None:
    """Show what a run has made: data, stages, metrics, rollouts.

    RUN is a run's folder (runs/NAME), or one of its files of rollouts, which is printed for reading.
    """
    if run.is_file():
        from agentworld_sim.rollouts import read_rollouts, show as written

        for record in read_rollouts(run):
            click.echo(written(record))
        return
    lines = [*_data(run / "data"), *_stages(run)]
    if not lines:
        raise UsageError(
            f"{str(run)!r} is no folder of a run: it has no data/ and no stage ({', '.join(STAGES)})."
        )
    for line in lines:
        click.echo(line)
    for line in _rollouts(run, rollouts) if rollouts else ():
        click.echo(line)


def _data(folder: Path) -> Iterator[str]:
    counts = [f"{path.stem} {_lines_in(path):,}" for path in sorted(folder.glob("*.jsonl"))]
    if counts:
        yield f"data: {', '.join(counts)} rows"


def _stages(run: Path) -> Iterator[str]:
    from agentworld_trainers.stages._checkpoints import checkpoints
    from agentworld_trainers.stages._run import read_metrics

    rows: list[tuple[str, ...]] = []
    for name in STAGES:
        folder = run / name
        if not folder.is_dir():
            continue
        metrics = read_metrics(folder / "metrics.jsonl")
        last = checkpoints(folder)[-1:]
        state = "finished" if (folder / "final").is_dir() else "not finished"
        if state != "finished" and last:
            state += f", goes on from {last[0].name}"
        played = sum(map(_lines_in, folder.glob("rollouts/*.jsonl")))
        rows.append(
            (
                name,
                f"step {metrics[-1]['step']}" if metrics else "step 0",
                state,
                f"{played:,} rollouts" if played else "",
                ", ".join(_glance(metrics)),
            )
        )
    yield from text_table(rows)


def _glance(metrics: Sequence[dict[str, Any]]) -> Iterator[str]:
    for name in GLANCE:
        values = [line[name] for line in metrics if isinstance(line.get(name), int | float)]
        if values:
            yield f"{name} {values[0]:.3g} → {values[-1]:.3g}"


def _rollouts(run: Path, count: int) -> Iterator[str]:
    from agentworld_sim.rollouts import read_rollouts

    files = [path for name in STAGES for path in sorted(run.glob(f"{name}/rollouts/*.jsonl"))]
    last: deque[RolloutRecord] = deque(maxlen=count)
    for path in files:
        last.extend(read_rollouts(path))
    if not last:
        yield "no rollouts"
        return
    rows = [("rollout", "weights", "turns", "tokens", "stopped", "reward", "")]
    for record in last:
        rows.append(
            (
                f"{record.task} #{record.index}",
                f"step {record.policy_version}",
                str(len(record.turn_spans)),
                f"{len(record.prompt_ids)} + {len(record.response_ids)}",
                record.stop_reason,
                "none" if record.reward is None else f"{record.reward:g}",
                record.error or ", ".join(f"{k} {v:g}" for k, v in record.reward_parts.items()),
            )
        )
    yield ""
    yield from text_table(rows)


def _lines_in(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
