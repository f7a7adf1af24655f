"""What a recipe takes, and how a person reads it. Loads no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages._budget import Memory, ModelSize, Server, Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePlan:
    """What one stage takes."""

    name: str
    memory: Memory
    server: Server | None
    tokens: Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a recipe takes."""

    recipe: Recipe
    size: ModelSize
    stages: tuple[StagePlan, ...]
    warnings: tuple[str, ...]


def report(plan: Plan) -> list[str]:
    """The plan, for people."""
    recipe, size, hardware = plan.recipe, plan.size, plan.recipe.hardware
    model = f"{size.class_name}, {billions(size.parameters)} parameters"
    if size.experts:
        model += (
            f"; {billions(size.active)} compute for a token ({size.experts_per_token} of"
            f" {size.experts} experts)"
        )
    if size.adapters:
        model += f"; {billions(size.adapters)} trained (LoRA)"
    spread = ", spread over all" if hardware.sharding == "full" else ""
    gpus = "1 GPU" if hardware.gpus == 1 else f"{hardware.gpus} GPUs"
    lines = [
        f"{recipe.name}: {model}",
        f"{gpus} of {hardware.gpu_memory_gb:g} GB{spread}; computed in {recipe.model.dtype}",
        "",
        *_table([_MEMORY_HEAD, *map(_memory_row, plan.stages)]),
        "",
        *_table([_TOKEN_HEAD, *map(_token_row, plan.stages)]),
    ]
    for stage in plan.stages:
        if stage.server:
            lines.append(
                f"\n{stage.name}: the server that samples takes, on each of"
                f" {hardware.rollout_gpus} GPUs, {gigabytes(stage.server.weights)} of weights and up"
                f" to {gigabytes(stage.server.cache)} of cache."
            )
    lines += ["", "All figures are estimates from above: every row as long as it may be."]
    return lines + [f"warning: {warning}" for warning in plan.warnings]


_MEMORY_HEAD = (
    "memory per GPU",
    "weights",
    "gradients",
    "optimiser",
    "activations",
    "logits",
    "rollout cache",
    "peak",
)
_TOKEN_HEAD = ("tokens at most", "steps", "rows", "tokens a row", "trained", "rollouts", "sampled")


def _memory_row(stage: StagePlan) -> tuple[str, ...]:
    memory = stage.memory
    sizes = (
        memory.weights,
        memory.gradients,
        memory.optimiser,
        memory.activations,
        memory.logits,
        memory.rollouts,
        memory.peak,
    )
    return (stage.name, *map(gigabytes, sizes))


def _token_row(stage: StagePlan) -> tuple[str, ...]:
    tokens = stage.tokens
    numbers = (
        f"{tokens.steps:,}",
        f"{tokens.rows:,}",
        f"{tokens.row_tokens:,}",
        billions(tokens.trained),
        f"{tokens.rollouts:,}" if tokens.rollouts else "",
        billions(tokens.sampled) if tokens.sampled else "",
    )
    return (stage.name, *numbers)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    ]


def gigabytes(size: int) -> str:
    """`80.0 GB`; small sizes in MB."""
    if not size:
        return "0"
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


def billions(count: int) -> str:
    """`34.7B`, `596M` or `762,240`."""
    if count >= 1e12:
        return f"{count / 1e12:.1f}T"
    if count >= 1e9:
        return f"{count / 1e9:.1f}B"
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count:,}"
