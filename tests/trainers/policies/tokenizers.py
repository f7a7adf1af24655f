"""Tokenizers made on the spot, with the chat templates that are met in practice."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TINY_CHAT = Path(__file__).resolve().parents[2] / "vllm" / "tiny_chat.jinja"

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
)
ADDED = (
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
)
WORDS = 'the system user assistant tool name arguments command run {"name": "run", "arguments": }'


def bundled(name: str) -> str:
    """A chat template of those that TRL brings along."""
    spec = find_spec("trl")
    assert spec is not None and spec.origin is not None
    return (Path(spec.origin).parent / "chat_templates" / f"{name}.jinja").read_text()


@lru_cache(maxsize=1)
def _trained() -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([WORDS] * 20, trainer)
    return tokenizer.to_str()


def tokenizer(template: str | None = None, *, special: tuple[str, ...] = ()) -> Any:
    """A byte-level tokenizer whose turns end with `<|im_end|>`.

    Args:
        template: A chat template as text; Qwen3's by default.
        special: More tokens that templates write.
    """
    made = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_trained()),
        bos_token="<|endoftext|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>", *special],
    )
    made.add_tokens(list(ADDED), special_tokens=False)
    made.chat_template = bundled("qwen3") if template is None else template
    return made
