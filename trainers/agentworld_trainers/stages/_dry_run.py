"""What a recipe would take, without weights: the real model class is built on the meta device [torch]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

from agentworld_sim.errors import UsageError, nearest
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.recipes.schema import Gspo, Lora, ModelPart, SupervisedPart
from agentworld_trainers.stages._budget import (
    FULL,
    ModelSize,
    Plan,
    StagePlan,
    gigabytes,
    memory_of,
    row_tokens,
    server_of,
    stages_of,
    tokens_of,
)
from agentworld_trainers.stages._models import (
    SIZES_THAT_DO_NOT_FIT,
    config_fields,
    misfits,
    new_configuration,
)
from agentworld_trainers.user_functions import function_at


def dry_run(recipe: Recipe, stages: Sequence[str] | None = None) -> Plan:
    """Builds the model of a recipe on the meta device and works out what its stages take.

    Raises:
        UsageError: the configuration is none that transformers knows, or cannot be had without a
            download.
    """
    model, config = meta_model(recipe.model)
    size = size_of(model, config, recipe.model.lora)
    parts = [(name, part) for name, part in stages_of(recipe) if stages is None or name in stages]
    plans = tuple(
        StagePlan(
            name=name,
            memory=memory_of(size, recipe.model, part, recipe.hardware),
            server=server_of(size, part, recipe.hardware) if isinstance(part, Gspo) else None,
            tokens=tokens_of(part),
        )
        for name, part in parts
    )
    warnings = [
        *_unknown_fields(recipe.model, config),
        *(f"model.config: {one}" for one in misfits(recipe.model.config)),
        *_model_warnings(recipe, size),
        *_data_warnings(recipe),
    ]
    if recipe.hardware.sharding == "full":
        warnings.append(
            "hardware.sharding=full says what spreading the weights would take; training itself keeps a"
            " whole copy in every process so far, and refuses to be started with FSDP"
        )
    for (_, part), plan in zip(parts, plans, strict=True):
        found = [*_memory_warnings(recipe, plan), *_stage_warnings(recipe, size, part)]
        warnings += [f"{plan.name}: {warning}" for warning in found]
    return Plan(recipe=recipe, size=size, stages=plans, warnings=tuple(warnings))


def meta_model(part: ModelPart) -> tuple[nn.Module, Any]:
    """The model class of a recipe, with parameters that have shapes and no content, and its text
    configuration.

    Raises:
        UsageError: the configuration is none that transformers knows, or cannot be had without a
            download.
    """
    if part.path and (Path(part.path).is_dir() or not part.config):
        try:
            config: Any = AutoConfig.from_pretrained(part.path)
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise UsageError(
                f"the configuration of {part.path!r} cannot be read: {reason} Name a folder, or write"
                " its fields under [model.config] for a dry run without a download."
            ) from None
    else:
        config = new_configuration(part.config)
    try:
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
    except SIZES_THAT_DO_NOT_FIT as error:
        raise UsageError(
            f"no causal language model can be built from the configuration of `model`: {error}"
        ) from None
    return model, config.get_text_config()


def _unknown_fields(part: ModelPart, config: Any) -> Iterator[str]:
    """transformers keeps a field that it does not know, so a misspelt one would go unnoticed."""
    known = config_fields(type(config))
    for name in sorted({*part.config} - {"model_type"} - known):
        hint = nearest(name, known)
        yield f"model.config.{name}: {type(config).__name__} has no such field.{hint}"


def size_of(model: nn.Module, config: Any, lora: Lora | None = None) -> ModelSize:
    """Counts what memory depends on."""
    parameters = dict(model.named_parameters())
    total = sum(parameter.numel() for parameter in parameters.values())
    experts = getattr(config, "num_experts", 0) or getattr(config, "num_local_experts", 0) or 0
    chosen = getattr(config, "num_experts_per_tok", 0) or 0
    expert = sum(weight.numel() for name, weight in parameters.items() if ".experts." in name)
    idle = expert - expert * chosen // experts if experts else 0
    tied = bool(getattr(config, "tie_word_embeddings", False))
    table = 0 if tied else config.vocab_size * config.hidden_size
    token, rollout = _cache_size(config)
    return ModelSize(
        class_name=type(model).__name__,
        parameters=total,
        active=total - idle - table,
        adapters=_adapters(model, lora) if lora else 0,
        layers=config.num_hidden_layers,
        layer_parameters=_largest_layer(parameters),
        hidden=config.hidden_size,
        vocabulary=config.vocab_size,
        cache_per_token=token,
        cache_per_rollout=rollout,
        context=getattr(config, "max_position_embeddings", 0) or 0,
        experts=experts if expert else 0,
        experts_per_token=chosen if expert else 0,
    )


def _adapters(model: nn.Module, lora: Lora) -> int:
    ends = tuple(f".{target}" for target in lora.targets)
    return sum(
        lora.rank * (module.in_features + module.out_features)
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.endswith(ends)
    )


def _largest_layer(parameters: dict[str, nn.Parameter]) -> int:
    layers: dict[str, int] = {}
    for name, parameter in parameters.items():
        _, found, below = name.partition(".layers.")
        if found:
            number = below.partition(".")[0]
            layers[number] = layers.get(number, 0) + parameter.numel()
    return max(layers.values(), default=0)


def _cache_size(config: Any) -> tuple[int, int]:
    """Numbers that generation keeps per token, and per sequence."""
    kinds: list[str] = getattr(config, "layer_types", None) or []
    linear = kinds.count("linear_attention")
    attention = config.num_hidden_layers - linear
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    fixed = 0
    if linear:
        keys = config.linear_num_key_heads * config.linear_key_head_dim
        values = config.linear_num_value_heads * config.linear_value_head_dim
        state = values * config.linear_key_head_dim
        fixed = linear * (state + (2 * keys + values) * config.linear_conv_kernel_dim)
    return attention * 2 * heads * width, fixed


def _model_warnings(recipe: Recipe, size: ModelSize) -> Iterator[str]:
    model = recipe.model
    if not model.path and "vocab_size" not in model.config:
        yield (
            f"model.config.vocab_size is left to the tokenizer; {size.vocabulary:,} is reckoned with, the"
            " default of the class"
        )
    if model.lora and not size.adapters:
        yield (
            f"no linear layer ends with {', '.join(model.lora.targets)}: there is nothing for"
            " model.lora.targets to adapt, and training would refuse"
        )
    if (
        not model.path
        and any(part for name, part in stages_of(recipe) if name == "rl")
        and not (recipe.cpt or recipe.sft)
    ):
        yield "the model is made from nothing and goes into reinforcement learning untrained"


def _data_warnings(recipe: Recipe) -> Iterator[str]:
    prompts = recipe.data.prompts
    if prompts and not Path(prompts).is_dir():
        yield f"data.prompts: there is no folder {prompts!r} here"
    for key, path in _functions(recipe):
        try:
            function_at(path, purpose="function")
        except UsageError as error:
            yield f"{key}: {error}"
    for name in recipe.data.files:
        if recipe.data.source == "files" and not glob(name, recursive=True):
            yield f"data.files: {name!r} matches no file here"


def _functions(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """The import paths of a recipe, by key."""
    found = {"data.tokenizer": recipe.data.tokenizer}
    if recipe.data.source != "files":
        found["data.source"] = recipe.data.source
    if recipe.agent:
        found["agent.tasks"] = recipe.agent.tasks
    for name, part in stages_of(recipe):
        if isinstance(part, Gspo):
            found[f"{name}.reward.function"] = part.reward.function
            found[f"{name}.rollouts.sync"] = part.rollouts.sync
    return ((key, path) for key, path in found.items() if path)


def _memory_warnings(recipe: Recipe, plan: StagePlan) -> Iterator[str]:
    hardware = recipe.hardware
    limit = hardware.gpu_memory_gb * 1e9
    where = f"{hardware.gpus} x {hardware.gpu_memory_gb:g} GB"
    peak = plan.memory.peak
    if peak > limit:
        yield (
            f"does not fit {where}: about {gigabytes(peak)} on each GPU. {_advice(recipe, plan)}"
        )
    elif peak > FULL * limit:
        yield f"leaves little room on {where}: about {gigabytes(peak)} on each GPU"
    if plan.server:
        cache, weights = plan.server.cache, plan.server.weights
        if weights > FULL * limit:
            yield (
                f"the server's weights ({gigabytes(weights)} on each of {hardware.rollout_gpus} GPUs)"
                " do not fit. Raise hardware.rollout_gpus."
            )
        elif weights + cache > FULL * limit:
            share = (FULL * limit - weights) / cache
            yield (
                f"the server's cache holds about {share:.0%} of the rollouts under way at their"
                " longest; the others wait. Lower rollouts.in_flight or raise hardware.rollout_gpus."
            )


def _advice(recipe: Recipe, plan: StagePlan) -> str:
    memory, part = plan.memory, dict(stages_of(recipe))[plan.name]
    sizes = {
        "activations": memory.activations + memory.logits,
        "weights": memory.weights + memory.gradients + memory.optimiser,
        "rollouts": memory.rollouts,
    }
    longest = "max_tokens" if isinstance(part, SupervisedPart) else "rollouts.max_rollout_tokens"
    rows = "" if part.micro_batch_size == 1 else f"{plan.name}.micro_batch_size or "
    shorter = f"Lower {rows}{plan.name}.{longest}"
    match max(sizes, key=lambda name: sizes[name]):
        case "activations" if not part.gradient_checkpointing:
            return f"Set {plan.name}.gradient_checkpointing=true."
        case "activations":
            return f"The largest part is activations. {shorter}."
        case "rollouts":
            return (
                f"The largest part is the cache of rollouts. Lower {plan.name}.rollouts.in_flight."
            )
        case _ if recipe.hardware.sharding == "none" and recipe.hardware.gpus > 1:
            return "Set hardware.sharding=full."
        case _:
            return "Take more GPUs, or LoRA ([model.lora])."


def _stage_warnings(recipe: Recipe, size: ModelSize, part: SupervisedPart | Gspo) -> Iterator[str]:
    longest = row_tokens(part)
    if size.context and longest > size.context:
        yield f"rows of {longest:,} tokens are longer than the model's context of {size.context:,}"
    rows = (part.micro_batch_size or 1) * recipe.hardware.gpus
    if part.batch_size % rows:
        yield (
            f"a batch of {part.batch_size} rows does not divide by {rows} (micro_batch_size times"
            " GPUs)"
        )
    if not isinstance(part, Gspo):
        return
    rollouts = part.rollouts
    if rollouts.policy == "http" and not rollouts.url:
        yield "rollouts.policy is 'http', but rollouts.url is empty"
    elif rollouts.policy == "http" and not rollouts.sync:
        yield (
            "no rollouts.sync brings the trained weights to the server that samples: unless something"
            " else does, training stops at its second rollout batch, where they differ"
        )
    if rollouts.policy == "http" and recipe.hardware.gpus > 1:
        yield "rollouts.policy is 'http', which takes one process: one GPU trains, so far"
    if rollouts.max_turn_tokens >= rollouts.max_rollout_tokens:
        yield (
            f"a turn may have {rollouts.max_turn_tokens:,} tokens, which leaves no room for a prompt"
            f" in the {rollouts.max_rollout_tokens:,} of a rollout"
        )
    if part.mini_batches == 1:
        yield "with one mini-batch the ratio is always 1 and the clip never acts"
    if part.steps % part.mini_batches:
        yield f"{part.steps} steps are no whole number of rollout batches of {part.mini_batches} steps"
