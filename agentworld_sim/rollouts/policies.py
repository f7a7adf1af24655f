"""Policies, which take token ids and give token ids; one for tests; and whether a served one has the right weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.rollouts.turn_tokens import ChatTokenizer, TurnTokens


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


class TellsLogprobs(Protocol):
    """A policy that says what its weights make of given tokens; `HttpPolicy` does."""

    async def prompt_logprobs(self, ids: Sequence[int]) -> tuple[float, ...]: ...


class PolicyDrifted(WorldFailure):
    """The server samples with other weights than the trainer's."""


async def verify_policy(
    policy: TellsLogprobs,
    probe_ids: Sequence[int],
    trainer_logprobs: Sequence[float],
    tolerance: float = 1e-3,
) -> float:
    """Compares the server's log-probabilities of a fixed probe with the trainer's.

    Call it after every weight sync: a reload can go wrong without a word (vLLM 0.32 on a CPU answers
    0.3 to 0.8 nat off after `reload_weights`, and reports success).

    The mean over the probe is compared. A single token says little: where a router chooses between experts
    that are nearly level, rounding alone moves one token by a whole nat.

    Args:
        policy: Asks the server.
        probe_ids: Any text that the model has an opinion on, at least two tokens.
        trainer_logprobs: The trainer's natural log-probability of every probe token but the first.
        tolerance: Largest mean of the absolute differences that is allowed, in nats. Equal weights in
            float32 differ by less than 1e-5; for a server in bfloat16 allow 0.15.

    Returns:
        The mean of the absolute differences, in nats.

    Raises:
        PolicyDrifted: it is larger than that, or not a number.
        ModelFailure: the server is down, or does not tell.
    """
    if len(probe_ids) < 2 or len(trainer_logprobs) != len(probe_ids) - 1:
        raise UsageError(
            f"a probe of {len(probe_ids)} tokens and {len(trainer_logprobs)} log-probabilities: at"
            " least two tokens are wanted, and one log-probability for each but the first."
        )
    served = await policy.prompt_logprobs(probe_ids)
    differences = [abs(a - b) for a, b in zip(served, trainer_logprobs, strict=True)]
    mean = sum(differences) / len(differences)
    # Written so that not-a-number counts as drift.
    if not mean <= tolerance:
        raise PolicyDrifted(
            f"the served weights are not the trainer's: the {len(differences)} tokens of the probe differ"
            f" by {mean:.3g} nat on the mean (allowed: {tolerance:g}). Nothing more is sampled from"
            " them. Restart the server with the latest checkpoint, then resume."
        )
    return mean


Script = Callable[[str, int], str]
"""Says what to write: given the prompt as text, and the seed of the turn."""


class ScriptedPolicy:
    """Writes scripted texts. The log-probability of every token is 0: it is certain of each."""

    def __init__(self, tokenizer: ChatTokenizer, script: Script | Sequence[str]) -> None:
        """
        Args:
            tokenizer: Makes tokens of the texts; its end of turn follows each.
            script: A function, or the texts of the turns; the last one is said again in every turn
                after it.
        """
        self._tokenizer = tokenizer
        tokens = TurnTokens(tokenizer)
        self._end = tokens.stop_ids[0]
        self._script = script if callable(script) else _by_turn(tuple(script), tokens.begin)

    async def complete(
        self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int
    ) -> Completion:
        prompt = str(self._tokenizer.decode(list(prompt_ids), skip_special_tokens=False))
        text = self._script(prompt, seed)
        ids = (*self._tokenizer.encode(text, add_special_tokens=False), self._end)
        cut = len(ids) > max_tokens
        ids = ids[:max_tokens]
        return Completion(
            token_ids=ids,
            logprobs=(0.0,) * len(ids),
            finish="length" if cut else "stop",
            version=0,
        )


def _by_turn(texts: tuple[str, ...], begin: str) -> Script:
    def script(prompt: str, seed: int) -> str:
        # Every turn of the policy, also the one that is asked for, has its beginning in the prompt.
        turn = prompt.count(begin)
        return texts[min(max(turn, 1), len(texts)) - 1]

    return script
