"""Models and tokenizers, from checkpoints or made from nothing."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from huggingface_hub.errors import StrictDataclassError
from peft import LoraConfig
from peft.tuners.tuners_utils import BaseTunerLayer
from safetensors import SafetensorError
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    set_seed,
)
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.utils import logging

from agentworld_sim.errors import UsageError, nearest
from agentworld_trainers.recipes import Recipe, StageName
from agentworld_trainers.recipes.schema import ModelPart
from agentworld_trainers.stages._rendering import verify_template
from agentworld_trainers.stages._run import Run

_ADAPTER = "adapter_config.json"


@contextmanager
def without_bars() -> Generator[None]:
    """Keeps transformers from drawing a bar for every file it reads or writes."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def load(run: Run, stage: StageName) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """What a stage begins with: the model of the stage before it, or the recipe's, and its tokenizer.

    Raises:
        UsageError: it cannot be used; the message says why.
    """
    recipe = run.recipe
    start = run.start_of(stage)
    run.hold_start(stage, start)
    tokenizer = load_tokenizer(recipe.model, start, run.folder / "data" / "tokenizer")
    if start is None and not recipe.model.path:
        model = new_model(recipe.model.config, tokenizer, seed=recipe.seed)
    else:
        model = load_model(start or recipe.model.path, _frozen_dtype(recipe.model))
        verify_architecture(model, recipe.model.config, str(start or recipe.model.path))
    verify_vocabulary(model, tokenizer)
    if recipe.model.lora is not None:
        verify_targets(model, recipe.model.lora.targets)
    return model, tokenizer


def load_tokenizer(
    part: ModelPart, start: Path | None = None, trained: Path | None = None
) -> PreTrainedTokenizerBase:
    """The tokenizer: the starting checkpoint's, else the recipe's, else the one the data stage trained.

    Raises:
        UsageError: there is none, or it cannot write the conversations of a world model.
    """
    source = str(start or part.tokenizer or part.path)
    if not source:
        if trained is None or not trained.is_dir():
            raise UsageError(
                "the recipe names no tokenizer (`model.tokenizer`) and no checkpoint (`model.path`),"
                " and the data stage trained none."
            )
        source = str(trained)
    _verify_there(source)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source)
    except (OSError, ValueError, KeyError) as error:
        why = " ".join(str(error).split())
        raise UsageError(f"no tokenizer could be loaded from {source!r}: {why}") from error
    verify_template(tokenizer)
    return cast(PreTrainedTokenizerBase, tokenizer)


def load_model(source: str | Path, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """A language model from a checkpoint folder, or from the hub.

    Raises:
        UsageError: there is none, or weights are missing in it.
    """
    source = str(source)
    _verify_there(source)
    _verify_model(Path(source))
    try:
        # The return type does not know of the report.
        with without_bars():
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                source, dtype=dtype, output_loading_info=True
            )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise UsageError(f"no language model could be loaded from {source!r}: {error}") from error
    model, report = loaded
    missing, wrong = sorted(report["missing_keys"]), sorted(map(str, report["mismatched_keys"]))
    if missing or wrong:
        first = (missing or wrong)[0]
        raise UsageError(
            f"the checkpoint {source!r} is of another architecture than its configuration says"
            f" ({type(model).__name__}): {len(missing)} weights are missing and {len(wrong)} have"
            f" another shape, the first is {first!r}."
        )
    return cast(PreTrainedModel, model)


def new_model(
    config: Mapping[str, Any], tokenizer: PreTrainedTokenizerBase, *, seed: int
) -> PreTrainedModel:
    """A model with random weights. The same configuration and seed give the same.

    Args:
        config: `model_type` and the fields of its transformers configuration. What depends on the
            tokenizer (`vocab_size`, the numbers of special tokens) is filled in.

    Raises:
        UsageError: there is no such type or field.
    """
    kind: Any = config.get("model_type")
    known: set[str] = set()
    if kind in CONFIG_MAPPING:
        if CONFIG_MAPPING[kind] not in MODEL_FOR_CAUSAL_LM_MAPPING:
            raise UsageError(
                f"`model.config.model_type`: {kind!r} is no language model. Take one that is, for example"
                ' "qwen3_moe".'
            )
        known = config_fields(CONFIG_MAPPING[kind])
        for name in config:
            if name not in known and name != "model_type":
                raise UsageError(
                    f"`model.config.{name}`: {kind!r} has no such field.{nearest(name, known)}"
                )
    special = {
        name: getattr(tokenizer, name)
        for name in ("bos_token_id", "eos_token_id", "pad_token_id")
        if name in known
    }
    made = new_configuration({"vocab_size": len(tokenizer), **special, **config})
    try:
        set_seed(seed)
        model = AutoModelForCausalLM.from_config(made, dtype=torch.float32).eval()
        # Many sizes that do not fit each other are met only when something is computed.
        with torch.no_grad():
            model(input_ids=torch.zeros((1, 2), dtype=torch.long))
    except SIZES_THAT_DO_NOT_FIT as error:
        raise _no_model(config, error) from error
    return cast(PreTrainedModel, model.train())


def new_configuration(config: Mapping[str, Any]) -> PreTrainedConfig:
    """The configuration that a recipe's `model.config` describes.

    Raises:
        UsageError: there is no such type, or a value is none.
    """
    kind: Any = config.get("model_type")
    if kind is None:
        raise UsageError(
            "the recipe says neither where the model is (`model.path`) nor how to make one"
            ' (`model.config` with a `model_type`, for example "qwen3_moe").'
        )
    if kind not in CONFIG_MAPPING:
        raise UsageError(
            f"`model.config.model_type`: there is no model type {kind!r}."
            f"{nearest(str(kind), CONFIG_MAPPING)}"
        )
    try:
        made = AutoConfig.for_model(**config)
    except (StrictDataclassError, *SIZES_THAT_DO_NOT_FIT) as error:
        raise _no_model(config, error) from error
    return made


def _no_model(config: Mapping[str, Any], error: Exception) -> UsageError:
    sizes = ", ".join(
        f"{name} = {value!r}"
        for name, value in config.items()
        if isinstance(value, int | float | str) and name != "model_type"
    )
    why = " ".join([*(f"{one}." for one in misfits(config)), *str(error).split()])
    return UsageError(
        f"no {config['model_type']!r} that computes can be made from [model.config] ({sizes}): {why}"
    )


SIZES_THAT_DO_NOT_FIT = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a model raises, wherever a layer meets them first."""


def misfits(config: Mapping[str, Any]) -> Generator[str]:
    """Says which sizes of a configuration do not fit each other, of those that most models have."""

    def size(*names: str) -> tuple[str, int] | None:
        found = ((name, config.get(name)) for name in names)
        return next(
            ((name, value) for name, value in found if isinstance(value, int) and value > 0), None
        )

    heads, few = size("num_attention_heads"), size("num_key_value_heads")
    if heads and few and heads[1] % few[1]:
        yield f"`num_key_value_heads` ({few[1]}) does not divide `num_attention_heads` ({heads[1]})"
    hidden = size("hidden_size")
    if heads and hidden and not size("head_dim") and hidden[1] % heads[1]:
        yield (
            f"`num_attention_heads` ({heads[1]}) does not divide `hidden_size` ({hidden[1]}), and there"
            " is no `head_dim`"
        )
    experts, chosen = size("num_experts", "num_local_experts"), size("num_experts_per_tok")
    if experts and chosen and chosen[1] > experts[1]:
        yield f"`num_experts_per_tok` ({chosen[1]}) is more than `{experts[0]}` ({experts[1]})"


def lora_config(recipe: Recipe) -> LoraConfig | None:
    """The adapters that are trained, if not all weights are."""
    lora = recipe.model.lora
    if lora is None:
        return None
    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        task_type="CAUSAL_LM",
    )


def save_model(model: torch.nn.Module, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Writes a model and its tokenizer as a folder that transformers and vLLM load.

    Adapters are merged into the weights, since a server may not take them (vLLM's Mixture of Experts on a
    CPU); they are also written by themselves, into `adapter/`. The model cannot be trained on after that.
    Weights that adapters were merged into are written in float32, whatever the rest is in: bfloat16 would
    round away most of what a short training with small steps has changed.
    """
    whole = cast(Any, model)
    if hasattr(whole, "merge_and_unload"):
        whole.save_pretrained(folder / "adapter")
        for module in whole.modules():
            if isinstance(module, BaseTunerLayer):
                module.get_base_layer().float()
        whole = whole.merge_and_unload()
    config = whole.config.get_text_config()
    if getattr(config, "output_router_logits", False):
        # TRL sets it for the balance loss; who only samples must not pay for it.
        config.output_router_logits = False
    whole.generation_config.eos_token_id = tokenizer.eos_token_id
    whole.generation_config.pad_token_id = tokenizer.pad_token_id
    with without_bars():
        whole.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def verify_architecture(model: PreTrainedModel, config: Mapping[str, Any], source: str) -> None:
    """Compares a checkpoint with what the recipe says of the model.

    Raises:
        UsageError: it is of another architecture.
    """
    found: PreTrainedConfig = model.config
    for name, expected in config.items():
        value = found.model_type if name == "model_type" else getattr(found, name, expected)
        if value != expected:
            raise UsageError(
                f"the checkpoint {source!r} is of another architecture: `{name}` is {value!r}, and"
                f" `model.config` of the recipe says {expected!r}."
            )


def verify_vocabulary(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """
    Raises:
        UsageError: the tokenizer has tokens that the model has no embedding for.
    """
    rows = cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings
    if len(tokenizer) > rows:
        raise UsageError(
            f"the tokenizer has {len(tokenizer)} tokens and the model has embeddings for {rows}. Take the"
            " checkpoint's own tokenizer, or make the model with a larger `vocab_size`."
        )


def verify_targets(model: PreTrainedModel, targets: Sequence[str]) -> None:
    """
    Raises:
        UsageError: no linear layer has one of these names, so nothing would be trained for it. PEFT says so
            only where none of them is found.
    """
    layers = {name for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    ends = sorted({name.rpartition(".")[2] for name in layers} - {"lm_head"})
    if not targets:
        raise UsageError(
            f"`model.lora.targets` is empty. The model's linear layers are called: {', '.join(ends)}."
        )
    for target in targets:
        if not any(name == target or name.endswith(f".{target}") for name in layers):
            raise UsageError(
                f"`model.lora.targets`: the model has no linear layer {target!r}.{nearest(target, ends)}"
                f" There are: {', '.join(ends)}."
            )


def _frozen_dtype(part: ModelPart) -> torch.dtype:
    # Weights that are trained stay in float32: in bfloat16 a small step is rounded away.
    frozen = part.lora is not None and part.dtype == "bfloat16"
    return torch.bfloat16 if frozen else torch.float32


def config_fields(config: type[PreTrainedConfig]) -> set[str]:
    """Every field that a configuration or its model knows. Configurations take any field without a word."""
    known = set(config().to_dict())
    for base in config.__mro__:
        known.update(inspect.get_annotations(base))
    # Some fields (Qwen3-MoE's `head_dim`) are known to the model only.
    mapping = cast(Mapping[Any, type[PreTrainedModel]], MODEL_FOR_CAUSAL_LM_MAPPING)
    if config in mapping:
        source = inspect.getsource(inspect.getmodule(mapping[config]) or mapping[config])
        known.update(re.findall(r"config(?:\.|, \")(\w+)", source))
    return known


def _verify_there(source: str) -> None:
    path = Path(source)
    if path.is_dir():
        return
    if path.exists():
        raise UsageError(f"{source!r} is a file. Name the folder of a checkpoint.")
    # `owner/name` may be a name on the hub; anything else can only be a folder.
    if source.count("/") == 1 and not source.startswith((".", "/", "~")):
        return
    beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    raise UsageError(f"there is no folder {source!r}.{nearest(path.name, beside)}")


def _verify_model(path: Path) -> None:
    """Refuses a folder that holds something else, before transformers looks for it on the hub."""
    if not path.is_dir() or (path / "config.json").is_file():
        return
    if (path / _ADAPTER).is_file():
        # transformers loads them with the model that they change, where that was told.
        changed = json.loads((path / _ADAPTER).read_text("utf-8")).get("base_model_name_or_path")
        if changed:
            _verify_there(changed)
            return
        raise UsageError(
            f"{str(path)!r} holds adapters only, of a model that was made from nothing and is not kept."
            " Take the stage's `final` folder, into which they are merged."
        )
    inside = sorted(one.parent.name for one in path.glob("*/config.json"))
    hint = f" In it are: {', '.join(inside)}." if inside else ""
    raise UsageError(f"the folder {str(path)!r} is no checkpoint: it has no 'config.json'.{hint}")
