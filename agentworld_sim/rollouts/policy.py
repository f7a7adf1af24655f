"""What a policy is to the rollout engine: token ids in, token ids out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a policy sampled for one prompt."""

    token_ids: tuple[int, ...]
    """With the token that ended it, if one did."""
    logprobs: tuple[float, ...]
    """Natural logarithms, one per token, of the distribution that was sampled from."""
    finish: Literal["stop", "length"]
    version: int = 0
    """The optimiser step of the weights."""


class Policy(Protocol):
    """Samples completions. Temperature and stop tokens are its own settings."""

    async def complete(
        self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int
    ) -> Completion:
        """Samples a completion; the same prompt, seed and weights give the same one.

        Raises:
            WorldFailure: the model server is down, or answers with what cannot be used. Never turned
                into a completion.
        """
        ...
