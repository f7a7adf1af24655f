"""What a recipe says. One TOML file describes all stages of one model; a command runs one of them.

Every value has a default that is right for the published method where there is one; a recipe says what
is different.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0)]
StageName = Literal["cpt", "sft", "rl", "agent"]


class Part(BaseModel):
    """A table of a recipe. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lora(Part):
    """Low-rank adapters instead of all weights (PEFT)."""

    rank: Positive = 16
    alpha: Positive = 32
    dropout: Share = 0.0
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")


class ModelPart(Part):
    """Where the weights come from."""

    path: str = ""
    """A checkpoint folder or hub name to begin with; empty: made from `config`."""
    config: dict[str, Any] = Field(default_factory=dict[str, Any])
    """For a model made from nothing: `model_type` and the fields of its transformers configuration."""
    tokenizer: str = ""
    """A folder or hub name; by default the checkpoint's own, or the one the data stage trained."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    lora: Lora | None = None


class DataPart(Part):
    """Where samples come from and which are left out."""

    source: str = "files"
    """`files`, or the import path `package.module:function` of what makes trajectories. The pocket
    recipes name theirs."""
    files: tuple[str, ...] = ()
    """Trajectories (ours, or rows in AgentWorldBench form), for the source `files`."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What the source is given."""
    held_out: Share = 0.1
    """Share of the tasks that is kept for evaluation: no task is in both."""
    near_duplicate: Share = 0.9
    """Samples at least so similar to an earlier one are left out; 1 leaves out equal ones only."""
    masking: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Settings of turn-level loss masking that differ from the defaults."""


class Optimiser(Part):
    """How weights are changed."""

    steps: Positive = 100
    batch_size: Positive = 16
    """Rows of one optimiser step, over all processes."""
    micro_batch_size: Positive | None = None
    """Rows of one backward pass; all of the batch by default."""
    learning_rate: Rate = 1e-4
    schedule: Literal["constant", "cosine", "linear"] = "cosine"
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    max_tokens: Positive = 2048
    """Longest row; longer ones are left out and counted."""
    save_every: Positive = 50
    """Steps between checkpoints."""
    log_every: Positive = 10
    threads: Positive | None = None
    """CPU threads; torch's choice by default."""


class Rollouts(Part):
    """How episodes are sampled."""

    policy: Literal["in-process", "http"] = "in-process"
    url: str = ""
    """Of an OpenAI-compatible server with token ids (vLLM), for `http`."""
    model: str = ""
    """Its name at that server."""
    temperature: Rate = 1.0
    max_turns: Positive = 8
    max_turn_tokens: Positive = 1024
    max_episode_tokens: Positive = 8192
    in_flight: Positive = 64
    """Episodes under way at a time."""
    episode_seconds: Rate = 600.0
    """Deadline of one episode, on the host's clock."""
    heartbeat_seconds: Rate = 30.0
    """How often a rollout says how far it is."""


class Judge(Part):
    """A model that judges predictions."""

    url: str
    model: str = ""
    weight: Share = 0.9
    """Of the rubric; the rest is the rule's. Published: 9 to 1 (arXiv 2606.24597)."""


class RewardPart(Part):
    """What a prediction or an episode earns."""

    function: str = ""
    """A function of your own, `package.module:function`; by default the stage's."""
    judge: Judge | None = None


class Gspo(Optimiser):
    """GSPO (arXiv 2507.18071)."""

    group_size: Positive = 8
    groups_per_step: Positive = 8
    """Groups of one rollout batch."""
    mini_batches: Positive = 4
    """Optimiser steps per rollout batch. With one, the ratio is 1 and the clip never acts."""
    form: Literal["sequence", "token"] = "sequence"
    epsilon_low: Rate = 3e-4
    epsilon_high: Rate = 4e-4
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    rollouts: Rollouts = Rollouts()
    reward: RewardPart = RewardPart()


class AgentPart(Gspo):
    """GSPO of an agent in worlds."""

    tasks: str = ""
    """Import path of what makes the tasks."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What it is given."""
    prediction_loss: float = 0.0
    """Weight of the auxiliary loss on environment tokens (ECHO, arXiv 2605.24517)."""


class Sft(Optimiser):
    """Supervised fine-tuning."""

    thinking: bool = True
    """Whether samples that have thinking are trained with it."""


class Recipe(Part):
    """A whole recipe."""

    name: str
    description: str = ""
    seed: Annotated[int, Field(ge=0)] = 0
    output: str = ""
    """Folder of all results; `runs/NAME` by default."""
    model: ModelPart = ModelPart()
    data: DataPart = DataPart()
    cpt: Optimiser | None = None
    sft: Sft | None = None
    rl: Gspo | None = None
    agent: AgentPart | None = None
