"""What training takes: memory by part, tokens by stage, and the tables for people. Arithmetic only; nothing
here loads torch.

The rules, all per GPU and in bytes:

* Weights that are trained, their gradients and AdamW's two moments are float32: 4 + 4 + 8 bytes per
  parameter. Computing in bfloat16 adds a copy of what is being computed with: all weights, or, where they
  are spread over GPUs, two layers at a time (the one that computes and the next).
* Frozen weights, below LoRA adapters, are held once, in the type that is computed in.
* Activations: 34 · hidden bytes per token and layer in 16 bit, twice that in float32 (Korthikanti et al.
  2022, arXiv 2205.05198, equation 1, without the attention matrix, which no kernel keeps whole). With
  gradient checkpointing, the input of every layer and the inside of one.
* Logits are never whole: on a GPU TRL works in pieces of 4,096 tokens and 32,768 words, and keeps the
  gradient of the head in float32.
* Cache of rollouts: keys and values of the attention layers for every token, and the fixed state of
  linear-attention layers for every rollout.

It is an estimate: fragmentation, communication buffers and CUDA's own half a gigabyte come on top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass

from agentworld_sim.plain_text import text_table
from agentworld_trainers.recipes.schema import Gspo, Hardware, ModelPart, Recipe, SupervisedPart

FLOAT32 = 4
BFLOAT16 = 2
ADAM = 2 * FLOAT32
PIECE = 4096 * 32_768
"""Logits that TRL has at a time: of `trl.kernels.chunked_logprob`, tokens times words."""
INSIDE_A_LAYER = 17
"""Numbers kept per token and unit of the hidden size: 34 bytes in 16 bit."""
FULL = 0.9
"""Share of a GPU's memory above which an estimate is too near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """What of a model memory depends on. Counts are numbers, not bytes."""

    class_name: str
    parameters: int
    active: int
    """Parameters that compute for a token: of the experts only the chosen ones, and no table of
    embeddings, which is looked up (unless it is the head too)."""
    adapters: int = 0
    """Parameters of LoRA adapters."""
    layers: int
    layer_parameters: int
    """Of the largest layer."""
    hidden: int
    vocabulary: int
    cache_per_token: int
    """Keys and values of all attention layers."""
    cache_per_rollout: int = 0
    """Fixed state of all linear-attention layers."""
    context: int = 0
    """Longest sequence; 0 if the configuration does not say."""
    experts: int = 0
    experts_per_token: int = 0

    @property
    def trained(self) -> int:
        return self.adapters or self.parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes on one GPU that trains."""

    weights: int
    gradients: int
    optimiser: int
    activations: int
    logits: int
    rollouts: int = 0
    """Cache of the rollouts under way, where the same GPUs sample."""

    @property
    def peak(self) -> int:
        """Sampling and the backward pass take turns; weights and the optimiser's state stay."""
        passing = self.gradients + self.activations + self.logits
        return self.weights + self.optimiser + max(passing, self.rollouts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The most tokens a stage can come to."""

    steps: int
    rows: int
    """Of one step."""
    row_tokens: int
    trained: int
    rollouts: int = 0
    sampled: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Bytes on one GPU of the server that samples."""

    weights: int
    cache: int


def stages_of(recipe: Recipe) -> Iterator[tuple[str, SupervisedPart | Gspo]]:
    """The stages that a recipe has, in order."""
    for name in ("cpt", "sft", "rl", "agent"):
        part: SupervisedPart | Gspo | None = getattr(recipe, name)
        if part is not None:
            yield name, part


def row_tokens(part: SupervisedPart | Gspo) -> int:
    """The longest row of a stage."""
    return part.max_tokens if isinstance(part, SupervisedPart) else part.rollouts.max_rollout_tokens


def rows_per_gpu(part: SupervisedPart | Gspo, hardware: Hardware) -> int:
    """Rows of one backward pass on one GPU."""
    share = math.ceil(part.batch_size / hardware.gpus)
    return min(part.micro_batch_size or share, share)


def memory_of(
    size: ModelSize, model: ModelPart, part: SupervisedPart | Gspo, hardware: Hardware
) -> Memory:
    """Memory of one stage on one GPU."""
    computed = BFLOAT16 if model.dtype == "bfloat16" else FLOAT32
    shards = hardware.gpus if hardware.sharding == "full" else 1
    tokens = rows_per_gpu(part, hardware) * row_tokens(part)
    if size.adapters:
        held = size.parameters * computed + size.adapters * FLOAT32
    else:
        held = size.parameters * FLOAT32
    copy = size.parameters
    if shards > 1:
        copy = 2 * size.layer_parameters
    elif size.adapters or computed == FLOAT32:
        copy = 0
    inside = INSIDE_A_LAYER * size.hidden * tokens * computed
    kept = size.layers * size.hidden * tokens * computed
    return Memory(
        weights=_share(held, shards) + copy * computed,
        gradients=_share(size.trained * FLOAT32, shards),
        optimiser=_share(size.trained * ADAM, shards),
        activations=kept + inside if part.gradient_checkpointing else size.layers * inside,
        logits=_logits(size, tokens, computed),
        rollouts=_cache_here(size, part, hardware, computed),
    )


def server_of(size: ModelSize, part: Gspo, hardware: Hardware) -> Server | None:
    """Memory of the server that samples, in bfloat16; `None` where the training GPUs do."""
    if part.rollouts.policy == "in-process" or not hardware.rollout_gpus:
        return None
    return Server(
        weights=_share(size.parameters * BFLOAT16, hardware.rollout_gpus),
        cache=_share(_cache(size, part, BFLOAT16), hardware.rollout_gpus),
    )


def tokens_of(part: SupervisedPart | Gspo) -> Tokens:
    """Tokens of one stage, if every row were as long as it may be."""
    longest = row_tokens(part)
    trained = part.steps * part.batch_size * longest
    if isinstance(part, SupervisedPart):
        return Tokens(steps=part.steps, rows=part.batch_size, row_tokens=longest, trained=trained)
    batches = math.ceil(part.steps / part.mini_batches)
    rollouts = batches * part.group_size * part.groups_per_step
    turns = min(part.rollouts.max_turns * part.rollouts.max_turn_tokens, longest)
    return Tokens(
        steps=part.steps,
        rows=part.batch_size,
        row_tokens=longest,
        trained=trained,
        rollouts=rollouts,
        sampled=rollouts * turns,
    )


def _logits(size: ModelSize, tokens: int, computed: int) -> int:
    piece = min(tokens * size.vocabulary, PIECE)
    return piece * (computed + FLOAT32) + size.vocabulary * size.hidden * FLOAT32


def _cache_here(
    size: ModelSize, part: SupervisedPart | Gspo, hardware: Hardware, computed: int
) -> int:
    if isinstance(part, SupervisedPart) or server_of(size, part, hardware):
        return 0
    return _share(_cache(size, part, computed), hardware.gpus)


def _cache(size: ModelSize, part: Gspo, computed: int) -> int:
    rollouts = min(part.rollouts.in_flight, part.group_size * part.groups_per_step)
    per_rollout = size.cache_per_token * row_tokens(part) + size.cache_per_rollout
    return rollouts * per_rollout * computed


def _share(count: int, parts: int) -> int:
    return math.ceil(count / parts)


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
        *text_table([_MEMORY_HEAD, *map(_memory_row, plan.stages)], numbers=True),
        "",
        *text_table([_TOKEN_HEAD, *map(_token_row, plan.stages)], numbers=True),
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
    *("memory per GPU", "weights", "gradients", "optimiser"),
    *("activations", "logits", "rollout cache", "peak"),
)
_TOKEN_HEAD = ("tokens at most", "steps", "rows", "tokens a row", "trained", "rollouts", "sampled")


def _memory_row(stage: StagePlan) -> tuple[str, ...]:
    return (stage.name, *map(gigabytes, (*astuple(stage.memory), stage.memory.peak)))


def _token_row(stage: StagePlan) -> tuple[str, ...]:
    tokens = stage.tokens
    counts = (f"{count:,}" for count in (tokens.steps, tokens.rows, tokens.row_tokens))
    rollouts = f"{tokens.rollouts:,}" if tokens.rollouts else ""
    sampled = billions(tokens.sampled) if tokens.sampled else ""
    return (stage.name, *counts, billions(tokens.trained), rollouts, sampled)


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
