"""Where models and tokenizers come from, and what is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import Qwen3MoeConfig

from agentworld_sim.errors import UsageError
from agentworld_trainers.recipes.schema import ModelPart
from agentworld_trainers.stages._models import (
    config_fields,
    load,
    load_model,
    load_tokenizer,
    new_model,
    save_model,
)
from agentworld_trainers.stages._run import Run
from tests.trainers.stages import tiny


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = tmp_path / "good-model"
    folder.mkdir()
    save_model(new_model(tiny.CONFIG, tiny.tokenizer(), seed=0), tiny.tokenizer(), folder)
    return folder


def test_the_same_configuration_and_seed_make_the_same_model() -> None:
    one, same, other = (
        new_model(tiny.CONFIG, tiny.tokenizer(), seed=n).state_dict() for n in (3, 3, 4)
    )
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_what_depends_on_the_tokenizer_is_filled_in() -> None:
    tokenizer = tiny.tokenizer()
    config = new_model(tiny.CONFIG, tokenizer, seed=0).config
    assert (config.vocab_size, config.eos_token_id) == (len(tokenizer), tokenizer.eos_token_id)
    assert new_model({**tiny.CONFIG, "vocab_size": 512}, tokenizer, seed=0).config.vocab_size == 512


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "`model.config` with a `model_type`"),
        ({"model_type": "qwen3_mo"}, "no model type 'qwen3_mo'. Did you mean 'qwen3_moe'?"),
        ({"model_type": 3}, "`model.config.model_type`: there is no model type 3."),
        ({"model_type": "t5"}, "'t5' is no language model"),
        ({**tiny.CONFIG, "hiden_size": 8}, "no such field. Did you mean 'hidden_size'?"),
        ({**tiny.CONFIG, "hidden_size": "8"}, "no 'qwen3_moe' that computes can be made"),
        (
            {**tiny.CONFIG, "num_attention_heads": 3, "num_key_value_heads": 2},
            "`num_key_value_heads` (2) does not divide `num_attention_heads` (3). ",
        ),
        (
            {**tiny.CONFIG, "num_experts_per_tok": 5},
            (
                "from [model.config] (hidden_size = 32, num_hidden_layers = 1, num_attention_heads = 2,"
                " num_key_value_heads = 1, head_dim = 16, moe_intermediate_size = 16, num_experts = 4,"
                " num_experts_per_tok = 5, norm_topk_prob = True, tie_word_embeddings = True):"
                " `num_experts_per_tok` (5) is more than `num_experts` (4). "
            ),
        ),
        ({**tiny.CONFIG, "head_dim": 15}, "head_dim = 15"),
        ({**tiny.CONFIG, "num_key_value_heads": 0}, "num_key_value_heads = 0"),
        ({**tiny.CONFIG, "hidden_act": "sillu"}, "hidden_act = 'sillu'"),
        ({"model_type": "llama", "hidden_size": 30, "num_attention_heads": 4}, "no `head_dim`. "),
    ],
)
def test_a_configuration_that_makes_no_model_is_refused(
    config: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        new_model(config, tiny.tokenizer(), seed=0)
    assert message in str(caught.value)


def test_fields_that_only_the_model_knows_are_fields() -> None:
    assert {"head_dim", "hidden_size", "norm_topk_prob"} <= config_fields(Qwen3MoeConfig)


def test_a_checkpoint_is_loaded_with_its_own_tokenizer(checkpoint: Path, tmp_path: Path) -> None:
    recipe = tiny.recipe(tmp_path / "run", model={"path": str(checkpoint)})
    model, tokenizer = load(Run(recipe), "sft")
    assert model.dtype == torch.float32
    assert len(tokenizer) == len(tiny.tokenizer())


def test_a_missing_folder_names_the_nearest(checkpoint: Path) -> None:
    wrong = checkpoint.with_name("god-model")
    with pytest.raises(UsageError, match=r"no folder .*god-model'. Did you mean 'good-model'?"):
        load_model(wrong)
    with pytest.raises(UsageError, match=r"Did you mean 'good-model'?"):
        load_tokenizer(ModelPart(path=str(wrong)))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no checkpoint: it has no 'config\.json'"):
        load_model(tmp_path)
    with pytest.raises(UsageError, match="no tokenizer could be loaded"):
        load_tokenizer(ModelPart(path=str(tmp_path)))


def test_a_checkpoint_of_another_architecture_says_found_and_expected(
    checkpoint: Path, tmp_path: Path
) -> None:
    other = {**tiny.CONFIG, "model_type": "qwen3"}
    recipe = tiny.recipe(tmp_path / "run", model={"path": str(checkpoint), "config": other})
    with pytest.raises(UsageError, match=r"`model_type` is 'qwen3_moe', and .* says 'qwen3'"):
        load(Run(recipe), "sft")


def test_weights_that_are_missing_are_not_made_up(checkpoint: Path) -> None:
    path = checkpoint / "model.safetensors"
    weights = load_file(path)
    del weights["model.norm.weight"]
    save_file(weights, path, metadata={"format": "pt"})
    with pytest.raises(
        UsageError, match=r"1 weights are missing .* the first is 'model.norm.weight'"
    ):
        load_model(checkpoint)


def test_weights_of_another_shape_are_refused(checkpoint: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text())
    config["hidden_size"] = 48
    (checkpoint / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=r"no language model could be loaded|another shape"):
        load_model(checkpoint)


def test_adapters_are_merged_into_bfloat16_without_rounding_them_away(
    checkpoint: Path, tmp_path: Path
) -> None:
    base = load_model(checkpoint, torch.bfloat16)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
    model = get_peft_model(base, LoraConfig(r=4, target_modules=targets, task_type="CAUSAL_LM"))
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            # What a few hundred steps of 1e-6 would come to.
            parameter.data.normal_(0, 1e-4)
    ids = {"input_ids": torch.arange(3, 40)[None]}
    with torch.no_grad():
        unmerged = copy.deepcopy(model).float()(**ids).logits
        save_model(model, tiny.tokenizer(), tmp_path)
        merged = load_model(tmp_path)(**ids).logits
    torch.testing.assert_close(merged, unmerged, rtol=0, atol=1e-6)
    kept = {name: value.dtype for name, value in load_file(tmp_path / "model.safetensors").items()}
    assert {kept["model.layers.0.self_attn.q_proj.weight"], kept["model.embed_tokens.weight"]} == {
        torch.float32,
        torch.bfloat16,
    }
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == "bfloat16"


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(
    checkpoint: Path, tmp_path: Path
) -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.add_tokens(["one-more"])
    tokenizer.save_pretrained(checkpoint)
    recipe = tiny.recipe(tmp_path / "run", model={"path": str(checkpoint)})
    with pytest.raises(
        UsageError, match=r"tokenizer has \d+ tokens and the model has embeddings for"
    ):
        load(Run(recipe), "sft")


def test_no_tokenizer_at_all_says_where_one_could_come_from() -> None:
    with pytest.raises(UsageError, match="names no tokenizer"):
        load_tokenizer(ModelPart(), None, Path("nowhere"))
