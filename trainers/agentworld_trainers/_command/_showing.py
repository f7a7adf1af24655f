"""`agentworld train show` and `agentworld train recipes`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_sim.rollouts import RolloutRecord

STAGES = ("cpt", "sft", "rl", "agent")
GLANCE = ("loss", "accuracy", "reward", "groups/live", "held_out/exact", "held_out/success")
"""Metrics that say at a glance whether a stage works."""


@click.command()
def recipes() -> None:
    """List the shipped recipes."""
    from agentworld_trainers.recipes import load_recipe, shipped_recipes

    rows = [(name, load_recipe(name).description) for name in shipped_recipes()]
    width = max(len(name) for name, _ in rows)
    for name, description in rows:
        click.echo(f"{name.ljust(width)}  {description}")


@click.command()
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
        from agentworld_sim.rollouts import read_rollouts
        from agentworld_sim.rollouts import show as written

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
    return iter(_table(rows))


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
    yield from _table(rows)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _lines_in(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
