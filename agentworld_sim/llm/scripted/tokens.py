"""Tokens and the prefix cache, counted without a model.

One token is four bytes of UTF-8. That is near the density of real tokenizers on English text and
makes every count a test expects computable by hand. The cache works as vLLM's automatic prefix
caching does (its design page on prefix caching): a block is known by the hash of its tokens and
of everything before them, only whole blocks are kept, and the last token of a prompt is always
computed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentworld_sim.llm.scripted._script import text_of

BYTES_PER_TOKEN = 4
END_OF_THINKING = "\n</think>\n\n"
"""What stands between thinking and answer in the generated text."""


def count_tokens(text: str) -> int:
    """Tokens of a text: its UTF-8 bytes by four, rounded up."""
    return -(-len(encode(text)) // BYTES_PER_TOKEN)


def encode(text: str) -> bytes:
    # JSON can carry half of a surrogate pair, which UTF-8 cannot.
    return text.encode("utf-8", errors="surrogatepass")


def render_prompt(messages: Sequence[Mapping[str, Any]]) -> str:
    """The conversation as Qwen's chat template writes it, up to where the model begins."""
    turns = "".join(
        f"<|im_start|>{message.get('role', '')}\n{text_of(message)}<|im_end|>\n"
        for message in messages
    )
    return f"{turns}<|im_start|>assistant\n"


class PrefixCache:
    """Which token blocks the server has seen, and what came before them."""

    def __init__(self, *, block_size: int) -> None:
        self.block_size = block_size
        """Tokens per block."""
        self.queries = 0
        """Prompt tokens looked up."""
        self.hits = 0
        """Prompt tokens found."""
        self._blocks: set[int] = set()
        self._lock = threading.Lock()

    def look_up(self, prompt: str, *, salt: str = "") -> int:
        """Tokens of the prompt that were known, after which all of its blocks are."""
        tokens = count_tokens(prompt)
        hashes = list(self._hashes(prompt, salt))
        with self._lock:
            known = next(
                (n for n, block in enumerate(hashes) if block not in self._blocks), len(hashes)
            )
            self._blocks.update(hashes)
            # The last token is always computed: its output is what the next token comes from.
            cached = min(known, max(tokens - 1, 0) // self.block_size) * self.block_size
            self.queries += tokens
            self.hits += cached
        return cached

    def add(self, text: str, *, salt: str = "") -> None:
        """Remember a prompt together with what was generated after it."""
        hashes = set(self._hashes(text, salt))
        with self._lock:
            self._blocks |= hashes

    def _hashes(self, text: str, salt: str) -> Iterator[int]:
        data, size = encode(text), self.block_size * BYTES_PER_TOKEN
        previous = hash(salt)
        for start in range(0, len(data) - size + 1, size):
            previous = hash((previous, data[start : start + size]))
            yield previous
