"""What a recipe says. One TOML file describes all stages of one model; a command runs one of them.

Every value has a default that is right for the published method where there is one; a recipe says what
is different.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentworld_trainers.masking import MaskSettings

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0)]
StageName = Literal["cpt", "sft", "rl", "agent"]


class Part(BaseModel):
    """A table of a recipe. Unknown keys are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Lora(Part):
    """Low-rank adapters instead of all weights (PEFT)."""

    rank: Positive = 16
    """Width of the adapters."""
    alpha: Positive = 32
    """The adapters' output is scaled by `alpha / rank`."""
    dropout: Share = 0.0
    """Share of the adapters' input that is dropped while training."""
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")
    """Ends of the names of the linear layers that get adapters."""


class ModelPart(Part):
    """Where the weights come from."""

    path: str = ""
    """A checkpoint folder or hub name to begin with; empty: made from `config`."""
    config: dict[str, Any] = Field(default_factory=dict[str, Any])
    """For a model made from nothing: `model_type` and the fields of its transformers configuration. Beside
    a `path`: what the checkpoint has to be, and what a dry run builds, without a download."""
    tokenizer: str = ""
    """A folder or hub name; by default the checkpoint's own, or the one the data stage trained."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Numbers that are computed in. Weights that are trained are kept in float32 either way (in bfloat16
    a step of 1e-6 is rounded away); frozen weights, below LoRA adapters, are kept in this."""
    lora: Lora | None = None
    """Train low-rank adapters instead of all weights."""


class DataPart(Part):
    """Where samples come from and which are left out."""

    source: str = "files"
    """`files`, or the import path `package.module:function` of what makes
    trajectories."""
    files: tuple[str, ...] = ()
    """Patterns of what the source `files` reads: trajectories (ours, or rows in AgentWorldBench form) as
    JSON Lines, and stores of worlds."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What the source is given."""
    prompts: str = ""
    """Folder of prompts, `<domain>/system_prompt.txt`, for trajectories of worlds; the shipped prompts by
    default. Serve the model with the same ones (`--prompts`)."""
    prompt_tokens: Positive = 229_376
    """Most tokens of a prompt, by the estimate of the run time; older turns are left out. For a model that
    is served with a context of C tokens and replies of at most M it is C - min(M, C / 2)."""
    min_turns: Positive = 2
    """Trajectories with fewer turns are left out."""
    without_target: Literal["leave-out", "refuse"] = "leave-out"
    """What becomes of rows that say no observation to predict; they are counted either way."""
    silent_turns: Literal["keep", "leave-out"] = "keep"
    """What becomes of turns in which a world's tool said nothing, as many commands of a shell do."""
    held_out: Share = 0.1
    """Share of the tasks that is kept for evaluation: no task is in both. For tasks whose side the
    source does not fix."""
    near_duplicate: Share = 0.9
    """Samples at least so similar to an earlier one are left out; 1 leaves out equal ones only. Alike
    have to be the predicted turn and, by itself, what stands before it."""
    samples_per_task: Positive | None = None
    """Most samples of one task for fine-tuning and for reinforcement learning each, drawn by the seed; all
    by default. Documents of continued pre-training are not limited."""
    reinforced: Share | None = None
    """Share of the trajectories that are kept for reinforcement learning, drawn by the seed: none of their
    turns is fine-tuned on, and none of the others is rewarded. By default all are for both."""
    masking: MaskSettings = MaskSettings()
    """Turn-level loss masking in continued pre-training."""
    tokenizer: str = ""
    """Import path `package.module:function` of what trains a tokenizer on the texts of all training rows,
    which are its first argument. What it returns is saved by its own `save_pretrained`."""
    tokenizer_settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Its other arguments, by name."""


class Optimiser(Part):
    """How weights are changed, in every stage."""

    steps: Positive = 100
    """Optimiser steps."""
    micro_batch_size: Positive | None = None
    """Rows of one backward pass on one process; all of its share of the batch by default."""
    learning_rate: Rate = 1e-4
    """Of AdamW, at its highest."""
    schedule: Literal["constant", "cosine", "linear"] = "cosine"
    """What becomes of the learning rate after the warm-up."""
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    """Steps in which the learning rate rises from 0."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Of AdamW."""
    max_grad_norm: Rate = 1.0
    """Longer gradients are shortened to this."""
    gradient_checkpointing: bool = False
    """Keep only the inputs of layers and compute the rest again: slower, far less memory."""
    save_every: Positive = 50
    """Steps between checkpoints."""
    log_every: Positive = 10
    """Steps between lines of metrics."""
    threads: Annotated[int, Field(gt=0, le=1024)] | None = None
    """CPU threads; torch's choice by default."""


class SupervisedPart(Optimiser):
    """Training on written rows: continued pre-training (`cpt`)."""

    batch_size: Positive = 16
    """Rows of one optimiser step, over all processes."""
    max_tokens: Positive = 2048
    """Longest row; longer ones are left out and counted."""
    adam_beta2: Annotated[float, Field(gt=0, lt=1)] = 0.999
    """How long AdamW remembers the size of gradients. In a training of a few hundred steps from nothing
    a smaller value, such as 0.98, learns faster."""

    @model_validator(mode="after")
    def _micro_batches_divide(self) -> SupervisedPart:
        if self.batch_size % (self.micro_batch_size or self.batch_size):
            raise ValueError(
                f"`micro_batch_size` ({self.micro_batch_size}) does not divide `batch_size`"
                f" ({self.batch_size})"
            )
        return self


class Rollouts(Part):
    """How rollouts are sampled."""

    policy: Literal["in-process", "http"] = "in-process"
    """What samples: the model that is being trained, or a server that has the same weights."""
    url: str = ""
    """Of an OpenAI-compatible server with token ids (vLLM), for `http`."""
    model: str = ""
    """Its name at that server."""
    sync: str = ""
    """For `http`, what brings new weights there: `package.module:function`, called with the folder that
    they were written to and the URL before every batch whose weights are new. Served and trained weights
    are compared afterwards, also where something else brings them."""
    temperature: Rate = 1.0
    """Of sampling. 1 samples from the distribution that is trained."""
    max_turns: Positive = 8
    """Turns of the policy in one rollout; a prediction has one."""
    max_turn_tokens: Positive = 1024
    """Tokens of one turn of the policy, thinking included."""
    max_rollout_tokens: Positive = 8192
    """Tokens of a whole rollout, the prompt included."""
    in_flight: Positive = 64
    """Rollouts under way at a time."""
    rollout_seconds: Rate = 600.0
    """Deadline of one rollout, on the host's clock."""
    heartbeat_seconds: Rate = 30.0
    """How often a batch reports how far it is."""


class Judge(Part):
    """A model that judges predictions."""

    url: str
    """Of an OpenAI-compatible server. Its key comes from AGENTWORLD_API_KEY and from nowhere else."""
    model: str = ""
    """Its name at that server; the only one there by default."""
    weight: Share = 0.9
    """Of the rubric; the rest is the rule's. Published: 9 to 1 (arXiv 2606.24597)."""
    prompts: str = ""
    """Folder with `<domain>/judge_system_prompt.txt`; the shipped prompt for domains that it lacks."""


class RewardPart(Part):
    """What a prediction or a rollout earns."""

    function: str = ""
    """A function of your own, `package.module:function`; by default the stage's."""
    judge: Judge | None = None
    """For predictions: a model's opinion beside the rules'."""


class Gspo(Optimiser):
    """GSPO (arXiv 2507.18071). The paper's clip range; group size and learning rate are ours."""

    group_size: Annotated[int, Field(ge=2)] = 8
    """Rollouts that begin at the same point and are compared with each other."""
    groups_per_step: Positive = 8
    """Groups of one rollout batch."""
    mini_batches: Positive = 4
    """Optimiser steps per rollout batch. With one, the ratio is 1 and the clip never acts."""
    form: Literal["sequence", "token"] = "sequence"
    """One ratio per sequence; `token` is GSPO-token, for advantages per turn."""
    epsilon_low: Rate = 3e-4
    """How far the ratio may fall below 1 before it is clipped."""
    epsilon_high: Rate = 4e-4
    """How far it may rise above 1."""
    advantage_eps: Annotated[float, Field(ge=0)] = 0.0
    """Added to the standard deviation of a group's rewards, by which advantages are divided. The paper adds
    nothing, TRL 1e-4: small differences between rewards then weigh less."""
    mismatch_limit: Rate = 0.02
    """A rollout is left out when its mean log-probability per token under the trainer and under what
    sampled it differ by more, in nats. Engines that agree differ by 1e-4 in float32 and by more in bfloat16
    (the metrics `mismatch/mean` and `mismatch/left_out` say it); weights out of step by 0.3 and more."""
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    """What becomes of the learning rate after the warm-up."""
    learning_rate: Rate = 1e-6
    """Of AdamW, at its highest."""
    thinking: bool = True
    """Whether the policy thinks before it answers: `enable_thinking` of the chat template."""
    rollouts: Rollouts = Rollouts()
    """How rollouts are sampled."""
    reward: RewardPart = RewardPart()
    """What they earn."""

    @property
    def batch_size(self) -> int:
        """Rows of one optimiser step: a rollout batch in `mini_batches` parts."""
        return self.group_size * self.groups_per_step // self.mini_batches

    @model_validator(mode="after")
    def _batches_divide(self) -> Gspo:
        rollouts = self.group_size * self.groups_per_step
        if rollouts % self.mini_batches:
            raise ValueError(
                f"`mini_batches` ({self.mini_batches}) does not divide the {rollouts} rollouts of a"
                " rollout batch (`group_size` times `groups_per_step`)"
            )
        if self.batch_size % (self.micro_batch_size or self.batch_size):
            raise ValueError(
                f"`micro_batch_size` ({self.micro_batch_size}) does not divide the {self.batch_size}"
                " rollouts of an optimiser step (`group_size` times `groups_per_step` by"
                " `mini_batches`)"
            )
        return self


class AgentPart(Gspo):
    """GSPO of an agent in worlds: what `rl` has, and tasks."""

    tasks: str = ""
    """What makes the tasks, `package.module:function`."""
    settings: dict[str, Any] = Field(default_factory=dict[str, Any])
    """What it is given."""
    prediction_loss: float = 0.0
    """Weight of the auxiliary loss on environment tokens (ECHO, arXiv 2605.24517)."""
    measure_every: Positive | None = None
    """Optimiser steps between measurements on held-out tasks; by default only before the first step and
    after the last."""
    measure_temperature: Annotated[float, Field(ge=0)] = 0.0
    """Of the sampling when held-out tasks are measured; 0 takes the most probable token always."""


class Sft(SupervisedPart):
    """Supervised fine-tuning: what `cpt` has, and thinking."""

    thinking: bool = True
    """Whether samples that have thinking are trained with it."""


class Hardware(Part):
    """What a dry run calculates with. Training takes the processes it is started with."""

    gpus: Positive = 1
    """GPUs that train."""
    gpu_memory_gb: Rate = 80.0
    """Of one, in GB of 10^9 bytes."""
    sharding: Literal["none", "full"] = "none"
    """`none`: every GPU holds all weights. `full`: weights, gradients and optimiser state are spread over
    all of them (FSDP2)."""
    rollout_gpus: Annotated[int, Field(ge=0)] = 0
    """GPUs of the server that samples, beside those that train; 0 if the same ones do both."""


class Recipe(Part):
    """A whole recipe."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Letters, digits, dots, dashes and underscores."""
    description: str = ""
    """One line, for people."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of everything that is random. The same recipe, seed and inputs give the same weights on a CPU."""
    output: str = ""
    """Folder of all results; `runs/NAME` by default."""
    model: ModelPart = ModelPart()
    """Where the weights come from."""
    data: DataPart = DataPart()
    """Where samples come from."""
    cpt: SupervisedPart | None = None
    """Continued pre-training on whole trajectories, with turn-level loss masking."""
    sft: Sft | None = None
    """Supervised fine-tuning on single predictions, or on demonstrations of an agent."""
    rl: Gspo | None = None
    """GSPO on predictions: single turns, no tools."""
    agent: AgentPart | None = None
    """GSPO of an agent in worlds, rewarded for the state it leaves."""
    hardware: Hardware = Hardware()
    """What a dry run calculates with."""
