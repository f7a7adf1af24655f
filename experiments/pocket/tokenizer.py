"""A byte-level BPE tokenizer for the pocket models, trained on their own corpus. [torch]

Words, spaces, digits and punctuation are never merged with each other: a word is the same token wherever
it stands, which is what a small model needs to copy it. The fixed strings of the wire form and of tool
calls are one token each.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SPECIAL: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""The tokens that no text can write: padding, and the two ends of a message."""

FRAMES: Final = (
    *("system\n", "user\n### Turn ", "user\n<tool_response>\n", "user\n", "assistant\n"),
    "assistant\n**Environment Observation:**\n",
    '\n**Action:**\n```json\n{\n  "name": "bash",\n  "arguments": {\n    "command": "',
    '"\n  }\n}\n```',
    *("<think>", "</think>", "<predicted_observation>", "</predicted_observation>"),
    '<tool_call>\n{"name": "bash", "arguments": {"command": "',
    '"}}\n</tool_call>',
    *("\n</tool_response>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
)
"""Fixed strings of conversations. The longest one that fits is taken."""

_PIECES: Final = r" ?[A-Za-z_]+| ?[0-9]| ?[^\sA-Za-z0-9_]+|\s"


def train_tokenizer(
    texts: Iterable[str], *, vocabulary: int = 768, frames: Iterable[str] = FRAMES
) -> PreTrainedTokenizerFast:
    """A tokenizer with the pocket models' chat template.

    Args:
        texts: The corpus, for example the contents of messages.
        vocabulary: Tokens in all: 256 bytes, merges, frames and special ones.
        frames: Strings that are one token each, beside the merges.
    """
    from tokenizers import AddedToken, Regex, Tokenizer
    from tokenizers.decoders import ByteLevel as Decoder
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split
    from tokenizers.trainers import BpeTrainer
    from transformers import PreTrainedTokenizerFast

    frames = tuple(frames)
    raw = Tokenizer(BPE())
    raw.pre_tokenizer = Sequence(  # pyright: ignore[reportAttributeAccessIssue]
        [
            Split(Regex(_PIECES), behavior="isolated"),
            ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    raw.decoder = Decoder()  # pyright: ignore[reportAttributeAccessIssue]
    trainer = BpeTrainer(
        vocab_size=vocabulary - len(frames),
        special_tokens=list(SPECIAL),
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    raw.train_from_iterator(_without(texts, frames), trainer)
    raw.add_tokens([AddedToken(frame, normalized=False) for frame in frames])
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        eos_token=SPECIAL[2],
        pad_token=SPECIAL[0],
        chat_template=chat_template(),
        clean_up_tokenization_spaces=False,
    )


def chat_template() -> str:
    """The pocket models' chat template."""
    folder = files("experiments.pocket")
    return (folder / "chat_template.jinja").read_text("utf-8")


def save_tokenizer(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Writes it as transformers and vLLM read it."""
    tokenizer.save_pretrained(folder)


def _without(texts: Iterable[str], frames: tuple[str, ...]) -> Iterable[str]:
    ordered = sorted(frames, key=len, reverse=True)
    for text in texts:
        for frame in ordered:
            text = text.replace(frame, "\n")
        yield text
